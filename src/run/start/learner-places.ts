import type { Resumption } from '../../checkpoints/resume.js'
import type { RunHost } from '../hosts/run-host.js'

/** The places and numbers of a process's learners, in the process and in the run, and what the first ones go on from. */
export class LearnerPlaces {
  readonly #learners: number
  readonly #resumption: Resumption | undefined
  readonly #host: RunHost | undefined
  /** Of the first learners, by their numbers. */
  readonly #first: readonly number[]

  /** `learners`: how many there are at first. `host`: absent if this process trains alone. */
  constructor(learners: number, resumption?: Resumption, host?: RunHost) {
    const { order: meets = [] } = resumption?.state ?? {}
    const order = host?.ownPlaces(meets) ?? meets
    this.#learners = learners
    this.#resumption = resumption
    this.#host = host
    // The first learners meet in the order of the checkpoint.
    this.#first = [...new Set([...order.filter((place) => place < learners), ...Array.from({ length: learners }, (_, place) => place)])]
  }

  /** The number of the first learner in a place. */
  numberOf(place: number): number {
    return this.#first.indexOf(place)
  }

  /** The place, or the number, in the run. */
  inRun(own: number): number {
    return this.#host?.placeOf(own) ?? own
  }

  /** The file of the states with which a learner begins; undefined if it begins at the central model, as all but the first ones do. */
  stateFile(learner: number): string | undefined {
    return learner < this.#learners ? this.#resumption?.learner(this.inRun(this.#first[learner]!)) : undefined
  }
}
