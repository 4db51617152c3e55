import type { FromText } from './from-text.js'
import type { Entries, Option } from './group.js'
import type { ValueForm, Schema } from './values.js'

/** An option in its place: in a group, or in one of several groups of which the caller chooses one. */
export interface PlacedOption {
  /** `optimiser.learningRate` */
  readonly path: string
  readonly option: Option
  /** The group that it is in. */
  readonly group: Entries
  /** The group that was chosen, such as synchroniser `sma`; absent if there is no choice. */
  readonly choice?: Choice
}

interface Choice {
  readonly name: string
  /** The names of all the groups. */
  readonly among: readonly string[]
}

/** Every option of a group and of the groups in it. An option that several choices have comes once for each of them. */
export function* optionsIn(entries: Entries, path = '', choice?: Choice): Generator<PlacedOption> {
  for (const [name, option] of Object.entries(entries)) {
    const own = path === '' ? name : `${path}.${name}`
    yield { path: own, option, group: entries, ...(choice && { choice }) }
    for (const inner of groupsOf(option)) yield* optionsIn(inner.entries, own, inner.choice)
  }
}

/** What a schema is made of. */
export interface Composite extends Schema {
  readonly entries?: Entries
  /** Of an option, and of a value that may be null. */
  readonly wrapped?: Composite
  readonly default?: unknown
  /** The forms that a value may have. */
  readonly choices?: readonly Composite[]
  /** Those of the choices, if the caller chooses by name. */
  readonly names?: readonly string[]
  readonly short?: string
}

interface InnerGroup {
  readonly entries: Entries
  readonly choice?: Choice
}

/** The groups that a schema is made of. */
function groupsOf({ entries, wrapped, choices = [], names: among }: Composite): readonly InnerGroup[] {
  if (entries) return [{ entries }]
  if (wrapped) return groupsOf(wrapped)
  if (!among) return choices.flatMap(groupsOf)
  return choices.flatMap((each, i) => groupsOf(each).map((inner) => ({ ...inner, choice: { name: among[i]!, among } })))
}

/** The option of a group for which a text stands that is given in place of the group. */
export function shortOf({ short, wrapped, choices = [] }: Composite): string | undefined {
  return short ?? (wrapped ? shortOf(wrapped) : choices.map(shortOf).find((each) => each !== undefined))
}

/** An option as `--help` and docs show it: all the choices that have it are one option. */
export interface OptionSummary {
  readonly path: string
  readonly text: string
  /** As commander writes it; absent if no flag gives the option. */
  readonly flag?: string
  readonly isCommon: boolean
  readonly chooses: boolean
  /** What it takes, in words. */
  readonly takes: string
  /** Absent if no text stands for a value. */
  readonly fromText?: FromText
  /** The default in words; absent if there is none. */
  readonly fallback?: string
  /** The optimisers, rules or models that have it; empty if all have it, or if the default names them. */
  readonly of: readonly string[]
}

/** The options of a group, and of the groups in it, that have a line of help. */
export function summariesOf(entries: Entries): readonly OptionSummary[] {
  const places = new Map<string, PlacedOption[]>()
  for (const each of optionsIn(entries)) places.set(each.path, [...(places.get(each.path) ?? []), each])
  return [...places.values()].flatMap((each) => summaryOf(each) ?? [])
}

function summaryOf(places: readonly PlacedOption[]): OptionSummary | undefined {
  const { path, option } = places[0]!
  const { text, flag, common = false, chooses = false, of, takes } = option.about ?? {}
  if (text === undefined) return undefined
  const reads = readerOf(places)
  const fallbacks = fallbacksOf(places)
  const differs = fallbacks.size > 1
  const fallback = differs ? byChoice(fallbacks) : [...fallbacks.keys()][0]
  return {
    path,
    text,
    ...(flag !== undefined && { flag }),
    isCommon: common,
    chooses,
    takes: takes ?? takenBy(places) ?? 'text',
    ...(reads && { fromText: reads }),
    ...(fallback !== undefined && { fallback }),
    of: of ?? (differs ? [] : choicesOf(places))
  }
}

function choicesOf(places: readonly PlacedOption[]): readonly string[] {
  const chosen = places.flatMap(({ choice }) => choice ?? [])
  return chosen.length === chosen[0]?.among.length ? [] : chosen.map(({ name }) => name)
}

/** The form of a schema's values: its own, or those of the forms that a value may have. */
function formOf({ form, wrapped, choices, entries }: Composite): ValueForm | undefined {
  if (form) return form
  if (entries) return { takes: `object with ${Object.keys(entries).join(', ')}` }
  if (wrapped) return formOf(wrapped)
  const forms = choices?.flatMap((each) => formOf(each) ?? []) ?? []
  const fromText = forms.find((each) => each.fromText)?.fromText
  return forms.length === 0 ? undefined : { takes: forms.flatMap(({ takes }) => takes || []).join('; '), ...(fromText && { fromText }) }
}

/** What the choices take, in words. */
function takenBy(places: readonly PlacedOption[]): string | undefined {
  const forms = new Set(places.flatMap(({ option }) => option.about?.takes ?? formOf(option)?.takes ?? []))
  return forms.size > 0 ? [...forms].join('; ') : undefined
}

/** From a text to the value of whichever choice takes it: the choice is not known where a flag is read. */
function readerOf(places: readonly PlacedOption[]): FromText | undefined {
  const [first, ...others] = new Set(places.flatMap(({ option }) => option.about?.fromText ?? formOf(option)?.fromText ?? []))
  if (!first || others.length === 0) return first
  return (text, refuse) => {
    try {
      return first(text, refuse)
    } catch (refusal) {
      for (const other of others) {
        try {
          return other(text, refuse)
        } catch {
          // The first says what is wrong.
        }
      }
      throw refusal
    }
  }
}

/** Each default, with the choices that have it. */
function fallbacksOf(places: readonly PlacedOption[]): ReadonlyMap<string | undefined, readonly string[]> {
  const fallbacks = new Map<string | undefined, string[]>()
  for (const { option, choice } of places) {
    const fallback = option.about?.otherwise ?? defaultText((option as Composite).default)
    fallbacks.set(fallback, [...(fallbacks.get(fallback) ?? []), ...(choice ? [choice.name] : [])])
  }
  return fallbacks
}

/** `1 for sma, easgd; 8 for local-sgd` */
function byChoice(fallbacks: ReadonlyMap<string | undefined, readonly string[]>): string {
  return [...fallbacks].map(([fallback, names]) => `${fallback ?? 'none'} for ${names.join(', ')}`).join('; ')
}

/** A default that is an empty object or list leaves the defaults to what is in it, and an option that is off has no default to tell. */
function defaultText(value: unknown): string | undefined {
  if (value === undefined || value === null || value === false || value === Infinity) return undefined
  if (typeof value === 'object' && Object.keys(value).length === 0) return undefined
  return typeof value === 'string' ? value : JSON.stringify(value)
}
