import { types } from 'node:util'
import { didYouMean } from './did-you-mean.js'

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
  | 'DOWNLOAD_FAILED'
  // The machine cannot do it.
  | 'UNSUPPORTED_PRECISION'
  | 'UNSUPPORTED_OPERATOR'
  | 'BACKEND_UNAVAILABLE'
  | 'HOSTS_DIFFER'
  | 'ENGINE_MISSING'
  | 'OUT_OF_MEMORY'
  | 'LIMIT_REACHED'
  | 'WRITE_FAILED'
  // It went wrong while it ran.
  | 'LOSS_NOT_FINITE'
  | 'LEARNER_FAILED'
  | 'CALLBACK_FAILED'
  | 'DEVICE_FAILED'
  | 'HOST_LOST'
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
 * `message` is one line that names the parameter, the value received and how to fix it (a line for each option at fault); `code`
 * is stable and is what programs should test; `data` carries the figures of the message for programs that want to show them in their own way.
 */
export class ArbalestError extends Error {
  override readonly name = 'ArbalestError'
  readonly code: ErrorCode
  declare readonly data: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; data?: Record<string, unknown> } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    // Not enumerable: Node prints what is, and the million numbers of an option would scroll the message away.
    Object.defineProperty(this, 'data', { value: options.data ?? {} })
  }
}

/** What functions that the user gave have thrown. */
const thrownByCallbacks = new WeakSet<object>()

/**
 * Marks what a function of the user's has thrown, so that it is not reported as a bug of this package. Returns it, or an Error with it as the cause where it is no
 * object.
 */
export function thrownByCallback(thrown: unknown): object {
  const noted = typeof thrown === 'object' && thrown !== null ? thrown : new Error(`thrown: ${shown(thrown)}`, { cause: thrown })
  thrownByCallbacks.add(noted)
  return noted
}

/** The code by which events and reports tell of an error. */
export function codeOf(error: unknown): ErrorCode {
  if (error instanceof ArbalestError) return error.code
  return typeof error === 'object' && error !== null && thrownByCallbacks.has(error) ? 'CALLBACK_FAILED' : 'INTERNAL'
}

/** What is wrong with one option, as `data.faults` of an error lists it. */
export interface OptionFault {
  /** `optimiser.learningRate` */
  readonly path: string
  readonly received: unknown
  readonly fix: string
}

/** A bad option, said the same way everywhere: what was given, what is taken, what to do. */
export function invalidOption(parameter: string, received: unknown, fix: string): ArbalestError {
  return faulty('INVALID_OPTION', { path: parameter, received, fix })
}

/** A name that is not in a list: the fault tells the list, and `hint`, or the names that are similar. */
export function unknownName(what: string, received: unknown, known: Iterable<string>, hint?: string): ArbalestError {
  const names = [...known].sort()
  const use = names.length > 0 ? `use one of ${names.join(', ')}` : 'there is none'
  const fix = `${use}${hint === undefined ? didYouMean(received, names) : `; ${hint}`}`
  return faulty('UNKNOWN_NAME', { path: what, received, fix }, { known: names })
}

/** Several refusals of options as one, INVALID_OPTION with all their `faults`; a single one as itself. */
export function together(refusals: readonly [ArbalestError, ...ArbalestError[]]): ArbalestError {
  if (refusals.length === 1) return refusals[0]
  const faults = refusals.flatMap(faultsOf)
  const message = [`${faults.length} options cannot be used as they are:`, ...faults.map(told)].join('\n  ')
  return new ArbalestError('INVALID_OPTION', message, { data: { faults } })
}

/** The faults of a refusal by `invalidOption`, `unknownName` or `together`; none of anything else that was thrown. */
export function faultsOf(thrown: unknown): readonly OptionFault[] {
  const { code, data } = Object(thrown) as Partial<ArbalestError>
  const isRefusal = code === 'INVALID_OPTION' || code === 'UNKNOWN_NAME'
  return isRefusal ? ((data?.['faults'] ?? []) as readonly OptionFault[]) : []
}

function faulty(code: ErrorCode, fault: OptionFault, more: Record<string, unknown> = {}): ArbalestError {
  const { path, received } = fault
  return new ArbalestError(code, told(fault), { data: { parameter: path, received, ...more, faults: [fault] } })
}

function told({ path, received, fix }: OptionFault): string {
  return `${path}: received ${received === undefined ? 'nothing' : shown(received)}; ${fix}`
}

/** Whether it is an object, which has properties to look at. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** Throws INVALID_OPTION for options that are no object, and for one that is not among `names`: nothing would read it, and the default would hold without a word. */
export function checkOptions(options: unknown, names: readonly string[], path = ''): void {
  if (!isObject(options)) throw invalidOption(path || 'options', options, 'use an object, or leave it out')
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && !names.includes(name))
      throw invalidOption(path ? `${path}.${name}` : name, value, `use only ${names.join(', ')}${didYouMean(name, names)}`)
}

/** A text of somebody else's, as a name in a file, for a message or a terminal: what would steer either is spelt out. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

/** Warns of something that ends nothing, in a text that may have somebody else's in it. */
export function warn(text: string): void {
  process.emitWarning(printable(text), 'ArbalestWarning')
}

/** Whether it is an error, also of another realm: where Jest runs a program, errors of Node and of the addon are no instances of its `Error`. */
export function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error || types.isNativeError(thrown)
  } catch {
    // A Proxy may throw at any access.
    return false
  }
}

/** What was thrown, in words: it need not be an error, nor an object that has a text. */
export function messageOf(thrown: unknown): string {
  try {
    return String(isError(thrown) ? thrown.message : thrown)
  } catch {
    return shown(thrown)
  }
}

/** A number of bytes as it appears in a message; the least of something is rounded up and the most of it down, so that what is told holds. */
export function mebibytes(bytes: number, rounded: (value: number) => number = Math.round): string {
  return `${(rounded((10 * bytes) / 2 ** 20) / 10).toFixed(1)} MiB`
}

/** The longest representation of a value in a message. */
const SHOWN_LENGTH = 120

/** A value as it appears in a message: short, quoted, on one line. */
export function shown(value: unknown): string {
  const text = printable(textOf(value))
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH - 3)}...` : text
}

function textOf(value: unknown): string {
  try {
    return describedIn(value)
  } catch {
    // Its properties throw, as those of a Proxy may.
    return 'an object that cannot be read'
  }
}

function describedIn(value: unknown): string {
  // A long text is cut first: it may have millions of characters to escape.
  if (typeof value === 'string') return JSON.stringify(value.slice(0, SHOWN_LENGTH))
  if (typeof value === 'function') return value.name === '' ? 'a function' : `function ${value.name}`
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value !== 'object' || value === null) return String(value)
  const { name = 'Object' } = (value.constructor ?? {}) as { readonly name?: string }
  if (ArrayBuffer.isView(value)) return 'length' in value ? `${name} of ${String(value.length)} numbers` : name
  // What JSON makes of a Map or a Promise says nothing.
  if (!Array.isArray(value) && name !== 'Object' && !('toJSON' in value) && Object.keys(value).length === 0) return name
  try {
    return JSON.stringify(value, withoutLoss).replaceAll(/"\\u0000([^"]*)"/g, '$1')
  } catch {
    return name
  }
}

/** Marks what JSON cannot write. */
function withoutLoss(_: string, value: unknown): unknown {
  const isJson = typeof value === 'number' ? Number.isFinite(value) : typeof value === 'object' ? !ArrayBuffer.isView(value) : false
  return isJson || typeof value === 'string' || typeof value === 'boolean' || value === undefined ? value : `\0${textOf(value)}`
}
