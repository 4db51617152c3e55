import type { JobEvent, RunEvent } from '../observe/events.js'
import { codeOf, messageOf } from '../errors.js'
import type { JobActors } from '../protocols/job-actors.js'
import type { RunBoard } from './run-board.js'

/** A run that can be watched: its events and its actors, as every program has them. */
export interface WatchedJob extends AsyncIterable<JobEvent> {
  readonly actors: JobActors
}

/** Seconds since 1970 as they go on from the start of the process: the system's clock may be put while a run is watched. */
export function secondsNow(): number {
  return (performance.timeOrigin + performance.now()) / 1000
}

/** Milliseconds that actors may take to answer. */
const DEADLINE = 2_000

/** Watches one run: its events always, its actors only when it is told to look. */
export class RunWatch {
  readonly board: RunBoard
  readonly #actors: JobActors
  /** Resolves when the run has ended. */
  readonly ended: Promise<void>
  /** The last round that was shown, of this attempt of the run. */
  #round = -1
  /** How often the run has gone back: rounds count from 0 again then. */
  #attempt = 0
  #looking = false

  constructor(job: WatchedJob, board: RunBoard, run: RunEvent) {
    this.board = board
    this.#actors = job.actors
    board.take(run, secondsNow())
    this.ended = this.#readEvents(job)
  }

  /** Asks the actors how they are. Two looks do not overlap; one that fails shows nothing. */
  async look(): Promise<void> {
    if (this.#looking || this.board.isOver || this.board.facts.state === 'preparing') return
    this.#looking = true
    const attempt = this.#attempt
    try {
      const { synchroniser, supervisor } = this.#actors
      const options = { deadline: DEADLINE }
      const [status, population, rounds] = await Promise.all([
        synchroniser.askWith(options).status(),
        supervisor.askWith(options).population(),
        synchroniser.askWith(options).sampledRounds(this.#round)
      ])
      if (attempt !== this.#attempt) return
      this.#round = rounds.at(-1)?.round ?? this.#round
      const { rss: resident, heapUsed: heap } = process.memoryUsage()
      this.board.look({ status, population, rounds, resident, heap }, secondsNow())
    } catch {
      // The run is ending, or between two attempts, which its events report.
    } finally {
      this.#looking = false
    }
  }

  #take(event: JobEvent): void {
    if (event.event === 'wentBack') {
      this.#attempt++
      this.#round = -1
    }
    this.board.take(event, secondsNow())
  }

  async #readEvents(job: WatchedJob): Promise<void> {
    try {
      for await (const event of job) this.#take(event)
    } catch (error) {
      const code = codeOf(error)
      this.board.take({ event: 'failed', code, message: messageOf(error) }, secondsNow())
    }
  }
}
