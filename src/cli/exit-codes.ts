import { ArbalestError, type ErrorCode } from '../index.js'

/** What the process ends with. Those of signals are 128 and the signal's number, as shells have it. */
export const EXIT = { done: 0, failed: 1, usage: 2, hungUp: 129, interrupted: 130, quit: 131, brokenPipe: 141, terminated: 143 } as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Errors of what was asked for, as against errors of what then happened. */
const USAGE: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['INVALID_OPTION', 'UNKNOWN_NAME'])

export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof ArbalestError && USAGE.has(error.code) ? EXIT.usage : EXIT.failed
}
