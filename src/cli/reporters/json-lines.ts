import type { JobEvent } from '../../index.js'
import type { Output, Reporter } from './reporter.js'

/** One object a line, the events as they are. */
export class JsonLines implements Reporter {
  readonly #output: Output

  constructor(output: Output) {
    this.#output = output
  }

  show(event: JobEvent): void {
    this.#output.write(`${JSON.stringify(event)}\n`)
  }

  close(): void {}
}
