import * as v from 'valibot'
import type { FromText } from './from-text.js'
import { oneOf, type NameList, type Schema } from './values.js'

/** What is told of an option beside its type. Its docstring tells more: it is for editors and for docs/api. */
export interface About {
  /** One line, for `--help` and for the table of docs/configuration.md; an option without it is in neither. */
  readonly text?: string
  /** As commander writes it: `--lr, --learning-rate <number>`. */
  readonly flag?: string
  /** From the flag's text to the value, if the schema of the value does not say so. */
  readonly fromText?: FromText
  /** What it takes in words, for the table of the docs, if the schema of the value does not say so. */
  readonly takes?: string
  /** Among the flags that `--help` shows first. */
  readonly common?: true
  /** The default in words, if it is not a constant. */
  readonly otherwise?: string
  /** The kinds (optimisers, rules) that have the option, if others in its group have not. */
  readonly of?: readonly string[]
  /** It chooses one of several optimisers, rules or averages: the options of the one that a config has are not meant for another one. */
  readonly chooses?: true
  /** Its names in other libraries; a key that is one of them is told the name here. */
  readonly also?: readonly string[]
}

/** An entry of a group. */
export interface Option extends Schema {
  readonly about?: About
}

/** A group's options by their names. */
export type Entries = Readonly<Record<string, Option>>

/** Without `undefined` as a value: an option is omitted or given. */
type Given<Options> = { readonly [Name in keyof Options]: Exclude<Options[Name], undefined> }

type Input<E extends Entries> = Given<v.InferInput<v.ObjectSchema<E, undefined>>>
type Output<E extends Entries> = Given<v.InferOutput<v.ObjectSchema<E, undefined>>>

/** Options that belong together: an object with these entries and no others. */
export interface OptionGroup<E extends Entries = Entries> extends Schema<Input<E>, Output<E>> {
  readonly entries: E
}

/** What a caller gives for the group. */
export type GivenOptions<G extends Schema> = v.InferInput<G>

/**
 * What an interface of options extends besides: the compiler then tells a mistake by the interface's name. With one base and no members of its own it tells all
 * options of that base.
 */
export interface ToldByName {}

/** The same, checked and with its defaults. */
export type CheckedOptions<G extends Schema> = v.InferOutput<G>

/** An option that may be omitted. */
export function option<I, O, const Default extends I | undefined = undefined>(
  schema: Schema<I, O>,
  { default: fallback, ...about }: About & { readonly default?: Default } = {}
): v.OptionalSchema<Schema<I, O>, Default> & { readonly about: About } {
  return Object.assign(v.optional(schema, fallback), { about }) as never
}

/** An option that a group cannot do without. */
export function required<I, O>(schema: Schema<I, O>, about: About = {}): Schema<I, O> & { readonly about: About } {
  return { ...schema, about }
}

/** More names than this are not listed in a message. */
const MANY = 20

/** What is told of a key that is no option. */
export interface KnownKeys {
  readonly entries: Entries
  readonly elsewhere: Readonly<Record<string, string>>
}

/** `elsewhere` tells of names that are options in other libraries what takes their place here; `fix` is told of what is no object. */
export function group<const E extends Entries>(entries: E, elsewhere: KnownKeys['elsewhere'] = {}, fix = formOf(entries)): OptionGroup<E> {
  // Valibot hands `requirement` on to the faults, from which their texts are made: here to that of an unknown key, below to that of a missing one.
  const unknown = Object.assign(v.never(), { requirement: { entries, elsewhere } satisfies KnownKeys })
  const object: Schema<object> = Object.assign(v.objectWithRest(entries, unknown, fix), { requirement: entries })
  return Object.assign(v.pipe(v.custom(isObject, fix), object, v.transform(given)), { entries }) as never
}

function formOf(entries: Entries): string {
  const known = Object.keys(entries)
  return known.length > MANY ? 'give an object with options' : `give an object with some of ${known.join(', ')}`
}

/** Whether a value can hold options: an array or a Map has elements instead, and a Promise, a URL or a Date has none. */
function isObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Symbol.iterator in value) return false
  return Object.keys(value).length > 0 || Object.prototype.toString.call(value) === '[object Object]'
}

function given(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

/** One of several groups, chosen by the option `key` that all of them have; `usual` is the choice if it is omitted. */
export function variants<const Groups extends Readonly<Record<string, OptionGroup>>>(
  key: string,
  groups: Groups,
  { usual, hints }: { readonly usual?: keyof Groups & string; readonly hints?: NameList['hints'] } = {}
): Schema<GivenOptions<Groups[keyof Groups]>, CheckedOptions<Groups[keyof Groups]>> & Choices {
  const names = Object.keys(groups)
  const fix = `give an object with ${key} and its options; ${key} is one of ${names.join(', ')}`
  // Of an unknown variant nothing else can be checked.
  const unknown = v.pipe(
    v.custom(isObject, fix),
    v.looseObject({ [key]: v.pipe(v.unknown(), oneOf(names, hints)) }, `choose one of ${names.join(', ')}`)
  )
  const choose = (value: unknown): Schema => {
    const { [key]: name = usual } = Object(value) as Readonly<Record<string, unknown>>
    return typeof name === 'string' && Object.hasOwn(groups, name) ? groups[name]! : unknown
  }
  return Object.assign(v.lazy(choose), { choices: Object.values(groups), names }) as never
}

/** A group or variants, or the value of their option `name` alone, which is a text that `short` checks. */
export function orShort<Short, Long, Checked>(
  short: Schema<Short, unknown>,
  long: Schema<Long, Checked>,
  name: string
): Schema<Short | Long, Checked> & Choices & { readonly short: string } {
  const completed = v.pipe(
    short,
    v.transform((value) => v.parse(long, { [name]: value }))
  )
  return Object.assign(
    v.lazy((value) => (typeof value === 'string' ? completed : long)),
    { choices: [long], short: name }
  )
}

/** The forms that a value may have. */
export interface Choices {
  readonly choices: readonly Schema[]
}
