import type { JobEvent } from '../../index.js'
import { JsonLines } from './json-lines.js'
import { PlainLines } from './plain-lines.js'
import { ProgressBar } from './progress-bar.js'

/** Shows a job's events to whoever looks at stdout. */
export interface Reporter {
  show(event: JobEvent): void
  /** Nothing more comes, after an error either: the terminal is left as it was found. */
  close(): void
}

export interface Output extends NodeJS.WritableStream {
  readonly isTTY?: boolean
}

/** JSON where it was asked for, a bar on a terminal, plain lines in a file or a pipe. */
export function reporterFor(output: Output, { json }: { json: boolean }): Reporter {
  if (json) return new JsonLines(output)
  const movable = output.isTTY === true && process.env['TERM'] !== 'dumb'
  return movable ? new ProgressBar(output) : new PlainLines(output)
}
