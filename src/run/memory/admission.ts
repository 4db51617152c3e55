import { ArbalestError } from '../../errors.js'
import { mebibytes } from './budget.js'

/** The memory of one of several jobs on a device, in bytes on each device. */
export interface JobMemory {
  /** That the job takes. */
  readonly bytes: number
  /** That is free for all jobs. */
  readonly free: number
}

/** Lets the jobs of a device begin if it holds all of them: each alone finds the memory free that the others are about to take. */
export class Admission {
  /** Undefined for a job that has ended before it was asked about. */
  readonly #known = new Map<number, JobMemory | undefined>()
  readonly #jobs: number
  #decide!: (error: ArbalestError | undefined) => void
  readonly #decided: Promise<ArbalestError | undefined>

  constructor(jobs: number) {
    this.#jobs = jobs
    this.#decided = new Promise((resolve) => (this.#decide = resolve))
  }

  /** Resolves when every job has told its need or has ended. Rejects with OUT_OF_MEMORY, and the figures, if they do not fit together. */
  async admit(job: number, memory: JobMemory): Promise<void> {
    this.#tell(job, memory)
    const error = await this.#decided
    if (error) throw error
  }

  /** A job has ended, however it has. */
  leave(job: number): void {
    this.#tell(job, undefined)
  }

  #tell(job: number, memory: JobMemory | undefined): void {
    if (!this.#known.has(job)) this.#known.set(job, memory)
    if (this.#known.size === this.#jobs) this.#decide(this.#refusal())
  }

  #refusal(): ArbalestError | undefined {
    const jobs = [...this.#known].filter((entry): entry is [number, JobMemory] => entry[1] !== undefined).toSorted(([a], [b]) => a - b)
    const wanted = jobs.reduce((sum, [, { bytes }]) => sum + bytes, 0)
    const free = Math.max(...jobs.map(([, memory]) => memory.free))
    if (wanted <= free || jobs.length < 2) return undefined
    const figures = jobs.map(([job, { bytes }]) => `job ${job} takes ${mebibytes(bytes)}`).join(', ')
    const fix = `give each a limit by deviceMemory (--device-memory), such as ${mebibytes(Math.floor(free / jobs.length))}, or run one after the other`
    return new ArbalestError('OUT_OF_MEMORY', `jobs: ${figures}, together ${mebibytes(wanted)} where ${mebibytes(free)} are free; ${fix}`, {
      data: { jobs: jobs.map(([, { bytes }]) => bytes), wanted, free }
    })
  }
}
