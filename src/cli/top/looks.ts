import { liveProcesses } from '../../runtime/live-processes.js'
import type { LiveJob, LiveProcess } from '../../runtime/live-processes.js'
import type { ActorSnapshot } from '../../runtime/snapshot.js'
import { paceOf, type ActorPace } from './pace.js'

export interface SeenJob extends Omit<LiveJob, 'actors'> {
  readonly pid: number
  readonly actors: readonly (ActorSnapshot & ActorPace)[]
}

/** Looks at this user's jobs again and again, and tells what happened since the look before. */
export class Looks {
  #before: readonly LiveProcess[] = []

  /** Takes a first look, to which the next one compares. */
  async begin(): Promise<readonly number[]> {
    this.#before = await liveProcesses()
    return this.#before.map(({ pid }) => pid)
  }

  /** Jobs of one process, or of all. */
  async again(pid?: number): Promise<readonly SeenJob[]> {
    const now = await liveProcesses()
    const before = this.#before
    this.#before = now
    return now
      .filter((one) => pid === undefined || one.pid === pid)
      .flatMap((one) => one.jobs.map((job, i) => seen(one.pid, job, before.find((other) => other.pid === one.pid)?.jobs[i])))
  }
}

function seen(pid: number, job: LiveJob, before: LiveJob | undefined): SeenJob {
  const known = before?.name === job.name && before.seconds < job.seconds ? before : undefined
  const seconds = job.seconds - (known?.seconds ?? 0)
  const actors = job.actors.map((actor) => ({
    ...actor,
    ...paceOf(
      known?.actors.find(({ name }) => name === actor.name),
      actor,
      seconds
    )
  }))
  return { pid, name: job.name, seconds: job.seconds, actors }
}
