import { ArbalestError, shown, type ErrorCode } from '../errors.js'
import type { ExitReason } from './actor.js'

/**
 * Errors as plain data. Structured cloning alone loses an error's class, code and data; this keeps name, message, stack, code, data and
 * the chain of causes, and gives an ArbalestError back as one.
 */
export type PortableError =
  | {
      readonly kind: 'error'
      readonly ours: boolean
      readonly name: string
      readonly message: string
      readonly stack: string | undefined
      readonly code: string | undefined
      readonly data: unknown
      readonly cause: PortableError | undefined
    }
  /** Something else than an error was thrown. */
  | { readonly kind: 'value'; readonly value: unknown }

/** A chain of causes is cut here: a cycle must not hang the one who reports it. */
const DEEPEST_CAUSE = 8

const BUILT_IN: Readonly<Record<string, ErrorConstructor>> = {
  Error,
  EvalError,
  RangeError,
  ReferenceError,
  SyntaxError,
  TypeError,
  URIError
}

/** What was thrown, in a form that may be posted to another thread. */
export function packError(thrown: unknown, depth = 0): PortableError {
  if (!(thrown instanceof Error)) return { kind: 'value', value: cloneable(thrown) }
  const { code, data } = thrown as { code?: unknown; data?: unknown }
  return {
    kind: 'error',
    ours: thrown instanceof ArbalestError,
    name: thrown.name,
    message: thrown.message,
    stack: thrown.stack,
    code: typeof code === 'string' ? code : undefined,
    data: cloneable(data),
    cause: thrown.cause === undefined || depth === DEEPEST_CAUSE ? undefined : packError(thrown.cause, depth + 1)
  }
}

/** The error again, of its own class where that is ArbalestError or built in. */
export function unpackError(packed: PortableError): unknown {
  if (packed.kind === 'value') return packed.value
  const cause = packed.cause === undefined ? undefined : unpackError(packed.cause)
  const error = packed.ours
    ? new ArbalestError(packed.code as ErrorCode, packed.message, { cause, data: (packed.data ?? {}) as Record<string, unknown> })
    : foreignError(packed, cause)
  if (packed.stack !== undefined) define(error, 'stack', packed.stack)
  return error
}

/** What was thrown as an Error, whatever it was. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`thrown: ${shown(thrown)}`, { cause: thrown })
}

/** An exit reason in a form that may be posted. */
export type PortableExit = Exclude<ExitReason, { kind: 'failed' }> | { readonly kind: 'failed'; readonly error: PortableError }

export function packExit(reason: ExitReason): PortableExit {
  return reason.kind === 'failed' ? { kind: 'failed', error: packError(reason.error) } : reason
}

export function unpackExit(packed: PortableExit): ExitReason {
  return packed.kind === 'failed' ? { kind: 'failed', error: asError(unpackError(packed.error)) } : packed
}

function foreignError(packed: PortableError & { kind: 'error' }, cause: unknown): Error {
  const error = new (BUILT_IN[packed.name] ?? Error)(packed.message, cause === undefined ? undefined : { cause })
  if (error.name !== packed.name) define(error, 'name', packed.name)
  if (packed.code !== undefined) define(error, 'code', packed.code)
  if (packed.data !== undefined) define(error, 'data', packed.data)
  return error
}

function define(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, configurable: true, writable: true })
}

function cloneable(value: unknown): unknown {
  try {
    return structuredClone(value)
  } catch {
    return shown(value)
  }
}
