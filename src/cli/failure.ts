import { messageOf, printable } from '../errors.js'
import { ArbalestError, faultsOf } from '../index.js'

export interface FailureOptions {
  /** Also as the last line of JSON on stdout. */
  readonly json: boolean
  /** Also the stack, and those of the causes. */
  readonly stack: boolean
}

/** Says what went wrong on stderr: `CODE: what, the value received, the mend` in one line, and where several options are at fault a line for each. */
export function tellFailure(error: unknown, { json, stack }: FailureOptions): void {
  const code = error instanceof ArbalestError ? error.code : 'INTERNAL'
  const several = error instanceof ArbalestError && faultsOf(error).length > 1
  const whole = messageOf(error)
  const lines = several ? whole.split('\n') : [whole.replaceAll(/\s*\n\s*/g, ' ')]
  const message = lines.map(printable).join('\n')
  if (json) process.stdout.write(`${JSON.stringify({ event: 'failed', code, message })}\n`)
  process.stderr.write(`${code}: ${message}\n`)
  if (stack) for (const each of causesOf(error)) process.stderr.write(`${each}\n`)
}

function* causesOf(error: unknown): Generator<string> {
  // A chain of causes may be a ring.
  const seen = new Set<unknown>()
  for (let each = error; each instanceof Error && !seen.has(each); each = each.cause) {
    seen.add(each)
    yield `${seen.size > 1 ? 'caused by ' : ''}${each.stack ?? each.message}`
  }
}
