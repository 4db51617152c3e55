import { ArbalestError, faultsOf, messageOf, printable, type ErrorCode } from '../errors.js'

/** The exit codes. After a signal it is 128 plus the signal's number, as shells report it. */
export const EXIT = { done: 0, failed: 1, usage: 2, hungUp: 129, interrupted: 130, quit: 131, brokenPipe: 141, terminated: 143 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Errors in the command line itself, as opposed to errors while it was carried out. */
const USAGE_ERRORS: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['INVALID_OPTION', 'UNKNOWN_NAME'])

export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof ArbalestError && USAGE_ERRORS.has(error.code) ? EXIT.usage : EXIT.failed
}

export interface ReportOptions {
  /** Also print the error as the last line of JSON on stdout. */
  readonly json: boolean
  /** Also print the stack traces of the error and its causes. */
  readonly stack: boolean
}

/** Prints an error on stderr as `CODE: message` in one line; if several options are at fault, in one line for each. */
export function reportError(error: unknown, { json, stack }: ReportOptions): void {
  const code = error instanceof ArbalestError ? error.code : 'INTERNAL'
  const several = error instanceof ArbalestError && faultsOf(error).length > 1
  const text = withLimit(messageOf(error), error)
  const lines = several ? text.split('\n') : [text.replaceAll(/\s*\n\s*/g, ' ')]
  const message = lines.map(printable).join('\n')
  if (json) process.stdout.write(`${JSON.stringify({ event: 'failed', code, message })}\n`)
  process.stderr.write(`${code}: ${message}\n`)
  if (stack) for (const each of stacksOf(error)) process.stderr.write(`${each}\n`)
}

/** Adds which limit of the system an error of Node.js is about, for Node gives only its code. */
function withLimit(text: string, error: unknown): string {
  for (const { code, message } of causesOf(error) as Iterable<NodeJS.ErrnoException>) {
    if (code === 'EMFILE' || code === 'ENFILE') return `${text}; the system allows no more open files: raise the limit (ulimit -n)`
    if (code === 'ERR_WORKER_INIT_FAILED' || /\bEAGAIN\b/.test(message))
      return `${text}; the system allows no more threads: raise the limit (ulimit -u), or use fewer learners`
  }
  return text
}

function* stacksOf(error: unknown): Generator<string> {
  let prefix = ''
  for (const { stack, message } of causesOf(error)) {
    yield `${prefix}${stack ?? message}`
    prefix = 'caused by '
  }
}

/** An error and its causes. */
function causesOf(error: unknown): Iterable<Error> {
  const causes = new Set<Error>()
  // A chain of causes may be circular.
  for (let each = error; each instanceof Error && !causes.has(each); each = each.cause) causes.add(each)
  return causes
}
