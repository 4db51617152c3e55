/** Every failure that a caller can meet, by its stable code. */
export type ErrorCode =
  // What was asked for is not possible as written.
  | 'INVALID_OPTION'
  | 'UNKNOWN_NAME'
  | 'SHAPE_MISMATCH'
  | 'INVALID_MODEL'
  | 'INVALID_PROGRAM'
  | 'INVALID_STATE'
  // The data is missing or is not what it says it is.
  | 'DATA_NOT_FOUND'
  | 'DATA_CORRUPT'
  | 'LABEL_OUT_OF_RANGE'
  // The machine cannot do it.
  | 'UNSUPPORTED_PRECISION'
  | 'UNSUPPORTED_OPERATOR'
  | 'BACKEND_UNAVAILABLE'
  | 'ENGINE_MISSING'
  | 'OUT_OF_MEMORY'
  | 'WRITE_FAILED'
  // It went wrong while it ran.
  | 'LOSS_NOT_FINITE'
  | 'LEARNER_FAILED'
  | 'ACTOR_FAILED'
  | 'ACTOR_GONE'
  | 'DEADLINE_EXCEEDED'
  | 'MAILBOX_FULL'
  | 'STALE_HANDLE'
  | 'ABORTED'
  | 'INTERNAL'

/**
 * The one error class of the project.
 *
 * `message` is one line that names the parameter, the value received and the mend; `code` is stable and is what programs
 * should test; `data` carries the figures of the message for programs that want to show them in their own way.
 */
export class ArbalestError extends Error {
  override readonly name = 'ArbalestError'
  readonly code: ErrorCode
  readonly data: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; data?: Record<string, unknown> } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.data = options.data ?? {}
  }
}

/** A bad option, said the same way everywhere: what was given, what is taken, what to do. */
export function invalidOption(parameter: string, received: unknown, mend: string): ArbalestError {
  return new ArbalestError('INVALID_OPTION', `${parameter}: received ${shown(received)}; ${mend}`, { data: { parameter, received } })
}

/** A name that is not in a list, with the list. */
export function unknownName(what: string, received: unknown, known: Iterable<string>): ArbalestError {
  const names = [...known].sort()
  return new ArbalestError('UNKNOWN_NAME', `${what}: received ${shown(received)}; use one of ${names.join(', ')}`, {
    data: { parameter: what, received, known: names }
  })
}

/** A value as it appears in a message: short, quoted, on one line. */
export function shown(value: unknown): string {
  if (typeof value === 'bigint' || typeof value === 'number') return String(value)
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch {
    text = undefined
  }
  text ??= String(value)
  return text.length > 120 ? `${text.slice(0, 117)}...` : text
}
