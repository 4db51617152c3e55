import type { Decision, Tuner } from '../../src/tuner/tuner.js'

/** True throughput of a population. */
export type Curve = (learners: number) => number

export interface SimulatedRunOptions {
  readonly curve: Curve
  /** Deviation of the logarithm of a window's throughput. */
  readonly noise: number
  /** Deviation of what all windows between two changes of the population have in common. */
  readonly luck?: number
  readonly seed: number
}

/** A run in virtual time: windows of one second, with noise. */
export class SimulatedRun {
  curve: Curve
  idle: number | undefined
  /** Learners for which there is memory. */
  room = Infinity
  readonly decisions: Decision[] = []
  readonly #tuner: Tuner
  readonly #options: SimulatedRunOptions
  #luck = 0
  #state: number

  constructor(tuner: Tuner, options: SimulatedRunOptions) {
    this.#tuner = tuner
    this.#options = options
    this.curve = options.curve
    this.#state = options.seed
    this.#changed()
  }

  get learners(): number {
    return this.#tuner.learners
  }

  windows(count: number): void {
    for (let i = 0; i < count; i++) {
      const { learners } = this.#tuner
      const samples = this.curve(learners) * Math.exp(this.#luck + this.#options.noise * this.#normal())
      this.#decide(this.#tuner.observe({ samples, seconds: 1, idle: this.idle ?? 0 }))
    }
  }

  /** To the end of the search in hand, where there is one. Throws where that never ends: the longest there can be is of 48 populations, 16 windows each, and a runoff. */
  settle(): void {
    for (let left = 1000; this.decisions.at(-1)?.action !== 'settle'; left--) {
      if (left === 0) throw new Error('the search has no end')
      this.windows(1)
    }
  }

  #decide(decision: Decision | undefined): void {
    if (!decision) return
    this.decisions.push(decision)
    if (decision.to > this.room) this.#decide(this.#tuner.refuse(`no room for ${decision.to}`))
    else if (decision.to !== decision.from) this.#changed()
  }

  #changed(): void {
    const { luck = 0 } = this.#options
    if (luck > 0) this.#luck = luck * this.#normal()
  }

  /** Box and Muller, from a small generator of Marsaglia's. */
  #normal(): number {
    return Math.sqrt(-2 * Math.log(this.#uniform())) * Math.cos(2 * Math.PI * this.#uniform())
  }

  #uniform(): number {
    this.#state ^= this.#state << 13
    this.#state ^= this.#state >>> 17
    this.#state ^= this.#state << 5
    return ((this.#state >>> 0) + 0.5) / 2 ** 32
  }
}
