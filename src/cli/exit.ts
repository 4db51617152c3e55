import { ArbalestError, codeOf, faultsOf, messageOf, printable, type ErrorCode } from '../errors.js'

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
  /** The number of the job that has failed, where several write to the same output. */
  readonly job?: number | undefined
}

/** Prints an error on stderr as `CODE: message` in one line; if several options are at fault, in one line for each. */
export function reportError(error: unknown, { json, stack, job }: ReportOptions): void {
  const cause = systemCauseOf(error)
  const code = cause && !(error instanceof ArbalestError) ? cause.code : codeOf(error)
  const several = error instanceof ArbalestError && faultsOf(error).length > 1
  const text = cause ? `${messageOf(error)}; ${cause.fix}` : messageOf(error)
  const lines = several ? text.split('\n') : [text.replaceAll(/\s*\n\s*/g, ' ')]
  const message = lines.map(printable).join('\n')
  if (json) process.stdout.write(`${JSON.stringify({ ...(job !== undefined && { job }), event: 'failed', code, message })}\n`)
  process.stderr.write(`${code}: ${message}\n`)
  if (stack) for (const each of stacksOf(error)) process.stderr.write(`${each}\n`)
}

/**
 * Prints the warnings of the process in one line each. Node.js would print them as they are, with its own number of the process and advice about its flags.
 * Nothing is printed where Node.js was told not to, as by NODE_NO_WARNINGS.
 */
export function printWarnings(): void {
  if (process.listenerCount('warning') === 0) return
  process.removeAllListeners('warning')
  process.on('warning', ({ message }) => process.stderr.write(`warning: ${printable(message.replaceAll(/\s*\n\s*/g, ' '))}\n`))
}

/** Open files that a training needs: for the process, the actors beside the learners and the threads that read images, and for the event loop of a learner's thread. */
const FILES = { run: 50, learner: 5 } as const

interface SystemCause {
  readonly code: ErrorCode
  readonly fix: string
}

/** What of the system an error of Node.js is about, where any command may meet it, and what to do: Node gives only the system's code. */
function systemCauseOf(error: unknown): SystemCause | undefined {
  for (const { code, syscall, message } of causesOf(error) as Iterable<NodeJS.ErrnoException>) {
    // A thread that cannot start has another code, and this one in its message.
    if (code === 'EMFILE' || code === 'ENFILE' || /\bEMFILE\b/.test(message))
      return {
        code: 'LIMIT_REACHED',
        fix: `the system allows no more open files: raise the limit (ulimit -n) to at least ${FILES.run} and ${FILES.learner} for each learner`
      }
    if (syscall === 'uv_cwd') return { code: 'INVALID_STATE', fix: 'the working folder was removed: change to one that is there' }
  }
  return undefined
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
