import { ArbalestError } from '../../errors.js'
import type { LoggedEvent } from '../../observe/events.js'
import { checkedMetrics, type LoggedMetrics } from '../../observe/logged-metrics.js'

/** The run that a log belongs to. */
export interface LoggedRun {
  /** The iterations that are done. */
  readonly iteration: () => number
  readonly emit: (event: LoggedEvent) => void
}

/** Turns the metrics that a user logs into events, each with the iteration to which it belongs. */
export class MetricLog {
  #run: LoggedRun | undefined
  /** Logged before the run had begun. */
  readonly #early: ((run: LoggedRun) => void)[] = []
  #iteration: number | undefined
  #ended = false

  /** Throws INVALID_OPTION, and INVALID_STATE after the end of the run. */
  log(given: LoggedMetrics): void {
    const metrics = checkedMetrics(given)
    if (this.#ended) throw new ArbalestError('INVALID_STATE', 'log: the run has ended; log before that')
    this.#withRun((run) => run.emit({ event: 'logged', iteration: this.#iteration ?? run.iteration(), learner: null, metrics }))
  }

  /** Metrics that a learner has logged at an iteration of its own. */
  logOf(learner: number, iteration: number, metrics: LoggedMetrics): void {
    if (!this.#ended) this.#withRun((run) => run.emit({ event: 'logged', iteration, learner, metrics }))
  }

  /** The run has begun: what was logged before belongs to its first iteration. */
  begin(run: LoggedRun): void {
    this.#run = run
    for (const work of this.#early.splice(0)) work(run)
  }

  /** The run's actors are about to end: what is logged from now on belongs to the last iteration. */
  freeze(): void {
    const run = this.#run
    if (!run) return
    const last = run.iteration()
    this.#run = { ...run, iteration: () => last }
  }

  /** Until the next call, what is logged belongs to this iteration; undefined for the present one. */
  holdAt(iteration: number | undefined): void {
    this.#iteration = iteration
  }

  end(): void {
    this.#ended = true
  }

  #withRun(work: (run: LoggedRun) => void): void {
    if (this.#run) work(this.#run)
    else this.#early.push(work)
  }
}
