import { checkedMetrics, type LoggedMetrics } from '../observe/logged-metrics.js'
import type { SendingPort } from '../runtime/port.js'

/** Metrics, and the iteration of the learner that they belong to. */
export type LogLine = readonly [iteration: number, metrics: LoggedMetrics]

/** The metrics that a learner's plugin logs, on their way to the job. */
export class LearnerLog {
  #port: SendingPort | undefined
  /** Logged before the port was there. */
  readonly #early: LogLine[] = []

  /** Throws INVALID_OPTION. */
  log(iteration: number, given: LoggedMetrics): void {
    const line: LogLine = [iteration, checkedMetrics(given)]
    if (this.#port) this.#port.postMessage(line)
    else this.#early.push(line)
  }

  sendTo(port: SendingPort): void {
    this.#port = port
    for (const line of this.#early.splice(0)) port.postMessage(line)
  }
}
