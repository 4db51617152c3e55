import { ArbalestError, isError, shown, type ErrorCode } from '../errors.js'

/**
 * An error as plain data. Structured cloning alone loses an error's class, code and data; this form keeps name, message, stack, code, data,
 * the chain of causes and the errors of an AggregateError, and an ArbalestError arrives as an ArbalestError.
 */
export type PortableError =
  | {
      readonly kind: 'error'
      readonly ours: boolean
      readonly name: string
      readonly message: string
      readonly stack: string | undefined
      readonly code: string | number | undefined
      readonly data: unknown
      readonly cause: PortableError | undefined
      /** Of an AggregateError. */
      readonly errors: readonly PortableError[] | undefined
    }
  /** The thrown value was not an error. */
  | { readonly kind: 'value'; readonly value: unknown }

/** Limits the chain of causes: a cyclic chain must not hang the thread that reports the error. */
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

/** A thrown value in a form that can be posted to another thread. Never throws. */
export function packError(thrown: unknown, depth = 0): PortableError {
  if (!isError(thrown)) return packValue(thrown)
  const [stack, code, cause] = [propertyOf(thrown, 'stack'), propertyOf(thrown, 'code'), propertyOf(thrown, 'cause')]
  return {
    kind: 'error',
    ours: thrown instanceof ArbalestError,
    // Any of them may have been replaced by what cannot be posted.
    name: textOf(propertyOf(thrown, 'name', 'Error')),
    message: textOf(propertyOf(thrown, 'message', 'its message cannot be read')),
    stack: typeof stack === 'string' ? stack : undefined,
    code: typeof code === 'string' || typeof code === 'number' ? code : undefined,
    data: cloneable(propertyOf(thrown, 'data')),
    cause: cause === undefined || depth === DEEPEST_CAUSE ? undefined : packError(cause, depth + 1),
    errors: thrown instanceof AggregateError ? packErrors(propertyOf(thrown, 'errors'), depth) : undefined
  }
}

/** A function, a symbol or another value that cannot be posted arrives as an Error that describes it: its description alone would seem to be a text that was thrown. */
function packValue(thrown: unknown): PortableError {
  try {
    return { kind: 'value', value: structuredClone(thrown) }
  } catch {
    return packError(new Error(`thrown: ${shown(thrown)}`))
  }
}

/** A property of an error; `unreadable` if it throws, as a getter or a Proxy may. */
function propertyOf(error: Error, name: string, unreadable?: string): unknown {
  try {
    return (error as unknown as Readonly<Record<string, unknown>>)[name]
  } catch {
    return unreadable
  }
}

function packErrors(errors: unknown, depth: number): PortableError[] {
  if (depth === DEEPEST_CAUSE || !Array.isArray(errors)) return []
  // Few levels: unlike a chain of causes, they branch.
  return errors.map((error) => packError(error, Math.max(depth + 1, DEEPEST_CAUSE - 1)))
}

/** Restores the thrown value; ArbalestError and the built-in error classes keep their class. */
export function unpackError(packed: PortableError): unknown {
  if (packed.kind === 'value') return packed.value
  const cause = packed.cause === undefined ? undefined : unpackError(packed.cause)
  const error = packed.ours
    ? new ArbalestError(packed.code as ErrorCode, packed.message, { cause, data: (packed.data ?? {}) as Record<string, unknown> })
    : foreignError(packed, cause)
  // From Node.js 22 on an error whose own stack was never read keeps the frames of that stack, with all that they reach.
  void error.stack
  if (packed.stack !== undefined) define(error, 'stack', packed.stack)
  return error
}

/** The thrown value itself if it is an Error whose properties can be read, else an Error that describes it. */
export function asError(thrown: unknown): Error {
  if (!isError(thrown)) return new Error(`thrown: ${shown(thrown)}`, { cause: thrown })
  return READ_EVERYWHERE.every((name) => propertyOf(thrown, name, UNREADABLE) !== UNREADABLE)
    ? thrown
    : asError(unpackError(packError(thrown)))
}

/** What those read who tell of an error. */
const READ_EVERYWHERE = ['name', 'message', 'stack', 'code', 'cause', 'data']
const UNREADABLE = '\0'

function foreignError(packed: PortableError & { kind: 'error' }, cause: unknown): Error {
  const options = cause === undefined ? undefined : { cause }
  const error = packed.errors
    ? new AggregateError(packed.errors.map(unpackError), packed.message, options)
    : new (BUILT_IN[packed.name] ?? Error)(packed.message, options)
  if (error.name !== packed.name) define(error, 'name', packed.name)
  if (packed.code !== undefined) define(error, 'code', packed.code)
  if (packed.data !== undefined) define(error, 'data', packed.data)
  return error
}

function define(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, configurable: true, writable: true })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : shown(value)
}

function cloneable(value: unknown): unknown {
  try {
    return structuredClone(value)
  } catch {
    return shown(value)
  }
}
