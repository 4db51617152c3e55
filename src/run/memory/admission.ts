import type { Handle } from '../../engine/contract.js'
import { ArbalestError, mebibytes } from '../../errors.js'

/** The memory of one of several jobs on a device, in bytes. */
export interface JobMemory {
  /** That the job holds from its beginning to its end. */
  readonly persistent: number
  /** That it takes while it computes: as many arenas of these bytes as learners that compute at once. */
  readonly arenas: readonly number[]
  /** Whether it can compute in arenas that other jobs use, too. */
  readonly sharesArenas: boolean
  /** That is free for all jobs. */
  readonly free: number
}

/** What has been decided of all jobs: an error, or the arenas that they share, if they have none of their own. */
type Decision = { readonly error: unknown } | { readonly arenas: Handle | undefined }

/**
 * Lets the jobs of a device begin if it holds all of them: each alone finds the memory free that the others are about to take. Jobs that do not fit with
 * arenas of their own share arenas: what all hold, and the most that one of them needs to compute, must fit.
 */
export class Admission {
  /** Undefined for a job that has ended. */
  readonly #known = new Map<number, JobMemory | undefined>()
  #isDecided = false
  readonly #jobs: number
  readonly #makeArenas: (sizes: readonly number[]) => Handle
  #decide!: (decision: Decision) => void
  readonly #decided: Promise<Decision>

  constructor(jobs: number, makeArenas: (sizes: readonly number[]) => Handle) {
    this.#jobs = jobs
    this.#makeArenas = makeArenas
    this.#decided = new Promise((resolve) => (this.#decide = resolve))
  }

  /**
   * Resolves when every job has told its need or has ended: with the arenas that the job shall share, undefined if it shall have its own. Rejects with
   * OUT_OF_MEMORY, and the figures, if the jobs do not fit together.
   */
  async admit(job: number, memory: JobMemory): Promise<Handle | undefined> {
    this.#tell(job, memory)
    const decision = await this.#decided
    if ('error' in decision) throw decision.error
    return memory.sharesArenas ? decision.arenas : undefined
  }

  /** A job has ended, however it has. */
  leave(job: number): void {
    this.#tell(job, undefined)
  }

  #tell(job: number, memory: JobMemory | undefined): void {
    if (this.#isDecided) return
    this.#known.set(job, memory)
    if (this.#known.size < this.#jobs) return
    this.#isDecided = true
    this.#decide(this.#decision())
  }

  #decision(): Decision {
    const jobs = [...this.#known].filter((entry): entry is [number, JobMemory] => entry[1] !== undefined).toSorted(([a], [b]) => a - b)
    const all = jobs.map(([, memory]) => memory)
    const free = Math.max(...all.map((memory) => memory.free))
    const held = sum(all.map(({ persistent, arenas, sharesArenas }) => persistent + (sharesArenas ? 0 : sum(arenas))))
    const sharing = all.filter(({ sharesArenas }) => sharesArenas)
    if (all.length < 2 || held + sum(sharing.map(({ arenas }) => sum(arenas))) <= free) return { arenas: undefined }
    const sizes = sharedSizes(sharing.map(({ arenas }) => arenas))
    try {
      return held + sum(sizes) <= free ? { arenas: this.#makeArenas(sizes) } : { error: refusal(jobs, { held, shared: sum(sizes), free }) }
    } catch (error) {
      return { error }
    }
  }
}

/** So many arenas, and so large, that each job finds its own among them. */
function sharedSizes(jobs: readonly (readonly number[])[]): number[] {
  const sizes: number[] = []
  for (const arenas of jobs)
    for (const [place, bytes] of arenas.toSorted((a, b) => b - a).entries()) sizes[place] = Math.max(sizes[place] ?? 0, bytes)
  return sizes
}

function refusal(
  jobs: readonly (readonly [number, JobMemory])[],
  { held, shared, free }: { readonly held: number; readonly shared: number; readonly free: number }
): ArbalestError {
  const figures = jobs.map(
    ([job, { persistent, arenas }]) => `job ${job} holds ${mebibytes(persistent)} and computes in ${mebibytes(sum(arenas))}`
  )
  const wanted = held + shared
  // What is left to compute in, where all hold what they must.
  const room = free - sum(jobs.map(([, { persistent }]) => persistent))
  const limits = jobs.map(([job, { persistent }]) => `${mebibytes(persistent + room, Math.floor)} for job ${job}`).join(' and ')
  const fix =
    room > 0 && jobs.every(([, { sharesArenas }]) => sharesArenas)
      ? `limit each by deviceMemory (--device-memory) to at most ${limits}, or `
      : ''
  const message = `jobs: ${figures.join(', ')}; together they take ${mebibytes(wanted)} where ${mebibytes(free)} are free; ${fix}run one after the other, or with smaller batches`
  return new ArbalestError('OUT_OF_MEMORY', message, {
    data: { jobs: jobs.map(([, { persistent, arenas }]) => ({ persistent, computing: sum(arenas) })), wanted, free }
  })
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0)
}
