import type { MeasuringWindow } from './tuner.js'
import type { GroupStatus } from '../engine/contract.js'

/** A window has at least so many rounds: it begins and ends where one does, and is looked at a little later. */
const LEAST_ROUNDS = 5

/** After a change or a disturbance so many rounds, and so large a part of a window, are not counted: caches are cold, threads are new. */
const WARM_ROUNDS = 3
const WARM_SHARE = 0.5

interface Mark {
  readonly round: number
  readonly position: number
  readonly seconds: number
}

/** Cuts a run into measuring windows, from what its group says and the clock of its training. */
export class WindowMeter {
  readonly #length: number
  #from: Mark | undefined
  #warm = false
  #seen = -1

  /** `length` in seconds. */
  constructor(length: number) {
    this.#length = length
  }

  /** The window in hand is given up, and the next one waits until training is warm. */
  reset(): void {
    this.#from = undefined
    this.#warm = false
  }

  /**
   * To be told often how far the group is: how often bounds the error of a window. Only a look that sees a new round counts. `seconds` of training,
   * in which nobody paused.
   */
  observe({ round, position }: Pick<GroupStatus, 'round' | 'position'>, seconds: number): MeasuringWindow | undefined {
    if (round === this.#seen) return undefined
    this.#seen = round
    const now = { round, position, seconds }
    const from = (this.#from ??= now)
    const passed = seconds - from.seconds
    const rounds = round - from.round
    if (!this.#warm) {
      if (rounds < WARM_ROUNDS || passed < WARM_SHARE * this.#length) return undefined
      this.#warm = true
      this.#from = now
      return undefined
    }
    if (rounds < LEAST_ROUNDS || passed < this.#length) return undefined
    this.#from = now
    return { samples: position - from.position, seconds: passed }
  }
}
