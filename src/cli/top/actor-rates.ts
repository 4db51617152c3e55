import { liveProcesses, type LiveJob, type LiveProcess } from '../../runtime/live-processes.js'
import type { ActorSnapshot } from '../../runtime/snapshot.js'

/** The activity of an actor between two snapshots. */
export interface ActorRates {
  /** Messages handled per second. */
  readonly rate: number
  /** Mean milliseconds from a message's arrival to its turn; null if no turn ended. */
  readonly wait: number | null
  /** Mean milliseconds of a turn; null if no turn ended. */
  readonly handle: number | null
  /** Share of the time that was spent in turns, 0 to 1. */
  readonly share: number
}

export interface JobRates extends Omit<LiveJob, 'actors'> {
  readonly pid: number
  readonly actors: readonly (ActorSnapshot & ActorRates)[]
}

/** Polls this user's jobs and computes the rates of their actors since the previous poll. */
export class JobPoller {
  #previous: readonly LiveProcess[] = []

  /** The processes that did not answer the last poll in time. */
  get silent(): readonly number[] {
    return this.#previous.filter(({ isSilent }) => isSilent).map(({ pid }) => pid)
  }

  /** Takes the first snapshot, which the next poll is compared with. Returns the ids of the processes that have jobs. */
  async begin(): Promise<readonly number[]> {
    this.#previous = await liveProcesses()
    return this.#previous.map(({ pid }) => pid)
  }

  /** The jobs of one process, or of all. */
  async poll(pid?: number): Promise<readonly JobRates[]> {
    const current = await liveProcesses()
    const previous = new Map(this.#previous.flatMap(({ pid: id, jobs }) => jobs.map((job) => [`${id} ${job.id}`, job])))
    this.#previous = current
    return current
      .filter((process) => pid === undefined || process.pid === pid)
      .flatMap((process) => process.jobs.map((job) => jobRates(process.pid, job, previous.get(`${process.pid} ${job.id}`))))
  }
}

function jobRates(pid: number, job: LiveJob, previous: LiveJob | undefined): JobRates {
  const seconds = job.seconds - (previous?.seconds ?? 0)
  const actors = job.actors.map((actor) => {
    const earlier = previous?.actors.find(({ name }) => name === actor.name)
    return { ...actor, ...actorRates(earlier, actor, seconds) }
  })
  return { ...job, pid, actors }
}

/** The rates between two snapshots that are `seconds` apart; for a new actor, since its start. */
export function actorRates(before: ActorSnapshot | undefined, now: ActorSnapshot, seconds: number): ActorRates {
  const since = (key: 'messages' | 'timed' | 'waitTime' | 'handleTime') => Math.max(0, now[key] - (before?.[key] ?? 0))
  const [messages, timed] = [since('messages'), since('timed')]
  const mean = (total: number) => (timed > 0 ? total / timed : null)
  // A turn is counted when it ends, so a turn that lasts longer than the interval fills all of it.
  const throughout = now.busy && messages === 0
  return {
    rate: messages / seconds,
    wait: mean(since('waitTime')),
    handle: mean(since('handleTime')),
    share: throughout ? 1 : Math.min(1, ((mean(since('handleTime')) ?? 0) * messages) / (1000 * seconds))
  }
}
