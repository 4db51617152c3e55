import * as v from 'valibot'
import { messageOf } from '../errors.js'
import { listFromText, realFromText, truthFromText, wholeFromText, type FromText } from './from-text.js'

/** What an option takes and gives; valibot's schema with our messages, each of which says how to fix the value. */
export type Schema<Input = unknown, Output = Input> = v.GenericSchema<Input, Output> & { readonly form?: ValueForm }

/** The form of a schema's values, for flags and for the tables of the docs. */
export interface ValueForm {
  /** In words: `whole number of at least 1`. */
  readonly takes: string
  /** Absent if no text stands for a value. */
  readonly fromText?: FromText
}

/** Bounds of a number. */
export interface Bounds {
  readonly min?: number
  readonly max?: number
  /** Excluded bounds. */
  readonly above?: number
  readonly below?: number
  /** What is counted: `epochs`. */
  readonly unit?: string
}

/** A whole number from `min` (0) to `max`. */
export function whole({ min = 0, max = Number.MAX_SAFE_INTEGER, unit }: Pick<Bounds, 'min' | 'max' | 'unit'> = {}): Schema<number> {
  const fix = ({ input }: { readonly input: unknown }): string => {
    const open = max === Number.MAX_SAFE_INTEGER && !(typeof input === 'number' && input > max)
    return `use a whole number${of(unit)} ${open ? `of at least ${min}` : `from ${min} to ${max}`}`
  }
  const schema = v.pipe(v.number(fix), v.safeInteger(fix), v.minValue(min, fix), v.maxValue(max, fix))
  const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`
  return withForm(schema, { takes: `whole number ${range}`, fromText: wholeFromText })
}

/** A port of this machine; 0 for any that is free. */
export function port(): Schema<number> {
  return whole({ max: 65_535 })
}

/** A finite number within its bounds. */
export function real(bounds: Bounds): Schema<number> {
  const { min = -Infinity, max = Infinity, above = -Infinity, below = Infinity, unit } = bounds
  const fix = `use a number${of(unit)} ${rangeText(bounds)}`
  const schema = v.pipe(
    v.number(fix),
    v.finite(fix),
    v.minValue(min, fix),
    v.maxValue(max, fix),
    v.gtValue(above, fix),
    v.ltValue(below, fix)
  )
  return withForm(schema, { takes: `number ${rangeText(bounds)}`, fromText: realFromText })
}

export function truth(): Schema<boolean> {
  return withForm(v.boolean('use true or false'), { takes: 'true or false', fromText: truthFromText })
}

/** What a fault tells of a choice. */
export interface NameList {
  readonly names: readonly string[]
  /** By names that are not among them: what to say of these, instead of a similar name. */
  readonly hints: Readonly<Record<string, string>>
}

/** One of a list of names. `hints` are for names that one may know from elsewhere. */
export function oneOf<const Name extends string>(names: readonly Name[], hints: NameList['hints'] = {}): Schema<Name> {
  // Valibot hands `requirement` on to the fault, which lists the names.
  const schema = Object.assign(v.picklist(names), { requirement: { names, hints } satisfies NameList })
  return withForm(schema, { takes: names.join(', '), fromText: asItIs })
}

/** A text that is not empty; `what` completes "give". */
export function text(what: string): Schema<string> {
  const fix = `give ${what}`
  return withForm(v.pipe(v.string(fix), v.minLength(1, fix)), { takes: what, fromText: asItIs })
}

/** An array whose members are checked one by one; `what` completes "give". */
export function list<Input, Output>(
  member: Schema<Input, Output>,
  what: string,
  { min = 0 }: { readonly min?: number } = {}
): Schema<readonly Input[], readonly Output[]> {
  const fix = `give ${what}`
  const { fromText } = member.form ?? {}
  return withForm(v.pipe(v.array(member, fix), v.minLength(min, fix)), {
    takes: what,
    ...(fromText && { fromText: listFromText(fromText) })
  })
}

/** A value of a kind that `holds` recognises; `what` completes "give". */
export function kind<Value>(holds: (value: unknown) => boolean, what: string): Schema<Value> {
  return withForm(v.custom<Value>(holds, `give ${what}`), { takes: what })
}

/** A value that is checked where it is used. */
export function anything<Value>(): Schema<Value> {
  return kind<Value>(() => true, 'a value')
}

export function abortSignal(): Schema<AbortSignal> {
  // Not by its class, of which another realm has its own.
  return kind<AbortSignal>((value) => {
    const { aborted, addEventListener } = Object(value) as Partial<AbortSignal>
    return typeof aborted === 'boolean' && typeof addEventListener === 'function'
  }, 'an AbortSignal')
}

/** A function of the user's. */
export function callable<Call>(): Schema<Call> {
  return kind<Call>((value) => typeof value === 'function', 'a function')
}

/** A value, or null for none. */
export function orNull<Input, Output>(schema: Schema<Input, Output>): Schema<Input | null, Output | null> {
  return v.nullable(schema)
}

/** Of several schemas the one that `choose` picks by the value, so that the faults are those of the form that was meant. */
export function either<const Choices extends readonly Schema[]>(
  choices: Choices,
  choose: (value: unknown) => number
): Schema<v.InferInput<Choices[number]>, v.InferOutput<Choices[number]>> & { readonly choices: Choices } {
  return Object.assign(
    v.lazy((value) => choices[choose(value)]!),
    { choices }
  )
}

/** A schema that says what form its values have. */
export function withForm<Input, Output>(schema: v.GenericSchema<Input, Output>, form: ValueForm): Schema<Input, Output> {
  return Object.assign(schema, { form })
}

/** What is wrong with a value that structured cloning cannot copy to another thread, and what to do about it; undefined for one that it can. */
export function postingFault(value: unknown): string | undefined {
  try {
    structuredClone(value)
    return undefined
  } catch (error) {
    return `it cannot be posted to a thread (${messageOf(error)}); use plain data and shared memory`
  }
}

/** A text stands for itself. */
const asItIs: FromText = (given) => given

function of(unit: string | undefined): string {
  return unit === undefined ? '' : ` of ${unit}`
}

function rangeText({ min, max, above, below }: Bounds): string {
  const upper = max !== undefined ? `${max}` : below !== undefined ? `below ${below}` : undefined
  if (min !== undefined) return upper === undefined ? `of at least ${min}` : `from ${min} to ${upper}`
  if (above === undefined) return upper === undefined ? 'that is finite' : max === undefined ? upper : `of at most ${max}`
  if (upper === undefined) return `above ${above}`
  return max === undefined ? `above ${above} and ${upper}` : `above ${above}, at most ${upper}`
}
