import { cpus } from 'node:os'
import type { GroupStatus } from '../engine/contract.js'
import { usableCores } from '../engine/machine.js'
import type { MeasuringWindow } from './tuner.js'

/** The least rounds of a window. Its ends are round starts that are seen a little late, so a window of few rounds would be inexact. */
const LEAST_ROUNDS = 5

/** The rounds and the share of a window's length that are not measured after a change: caches are cold, threads are new. */
const WARM_UP_ROUNDS = 3
const WARM_UP_SHARE = 0.5

interface Mark {
  readonly round: number
  readonly position: number
  readonly seconds: number
}

/** Divides a run into measuring windows, by the status of its group and the seconds of its training. */
export class WindowMeter {
  readonly #length: number
  #from: Mark | undefined
  #isWarm = false
  #lastRound = -1

  /** `length` in seconds. */
  constructor(length: number) {
    this.#length = length
  }

  /** Discards the present window. The next one begins after a warm-up. */
  reset(): void {
    this.#from = undefined
    this.#isWarm = false
  }

  /**
   * Call it often: the interval between two calls bounds the error of a window. Returns a window when it has ended. Calls without a new round do not
   * count. `seconds` of training, without pauses.
   */
  observe({ round, position }: Pick<GroupStatus, 'round' | 'position'>, seconds: number): MeasuringWindow | undefined {
    if (round === this.#lastRound) return undefined
    this.#lastRound = round
    const now = { round, position, seconds }
    const from = (this.#from ??= now)
    const passed = seconds - from.seconds
    const rounds = round - from.round
    if (!this.#isWarm) {
      if (rounds < WARM_UP_ROUNDS || passed < WARM_UP_SHARE * this.#length) return undefined
      this.#isWarm = true
      this.#from = now
      return undefined
    }
    if (rounds < LEAST_ROUNDS || passed < this.#length) return undefined
    this.#from = now
    return { samples: position - from.position, seconds: passed }
  }
}

/** Measures how many processors are idle. Unknown if the system counts processors that this process may not use. */
export class IdleProcessors {
  #idle = idleMilliseconds()
  #time = performance.now()

  /** The mean number since the last call; undefined if it is unknown. */
  take(): number | undefined {
    const before = { idle: this.#idle, time: this.#time }
    this.#idle = idleMilliseconds()
    this.#time = performance.now()
    const passed = this.#time - before.time
    if (this.#idle === undefined || before.idle === undefined || passed <= 0) return undefined
    return (this.#idle - before.idle) / passed
  }
}

function idleMilliseconds(): number | undefined {
  const all = cpus()
  return all.length === usableCores() ? all.reduce((sum, { times }) => sum + times.idle, 0) : undefined
}
