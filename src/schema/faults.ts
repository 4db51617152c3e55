import * as v from 'valibot'
import { didYouMean } from '../did-you-mean.js'
import { ArbalestError, invalidOption, together, unknownName } from '../errors.js'
import type { Entries, KnownKeys, Option } from './group.js'
import { optionsIn, type PlacedOption } from './options-in.js'
import type { NameList, Schema } from './values.js'

/** Collects what is wrong with options, so that all of it is told at once. */
export class Faults {
  readonly #errors: ArbalestError[] = []

  /** Throws INVALID_OPTION with every fault as `data.faults`; a single one as itself, INVALID_OPTION or UNKNOWN_NAME. */
  throwAny(): void {
    const [first, ...others] = this.#errors
    if (first) throw together([first, ...others])
  }

  get none(): boolean {
    return this.#errors.length === 0
  }

  refuse(path: string, received: unknown, fix: string): void {
    this.#errors.push(invalidOption(path, received, fix))
  }

  /** The result of a check that throws its fault; undefined if it does. */
  attempt<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof ArbalestError) || (error.code !== 'INVALID_OPTION' && error.code !== 'UNKNOWN_NAME')) throw error
      this.#errors.push(error)
      return undefined
    }
  }

  /**
   * The value as its schema gives it, with defaults. A value at fault counts as omitted from here on, so that no further check tells the same fault again;
   * a group that lacks what it requires counts as omitted itself.
   */
  checked<Input, Output>(schema: Schema<Input, Output>, given: unknown, { path = '', root }: CheckOptions = {}): Output {
    let { output, issues } = parsed(schema, given)
    for (const issue of firstOfEachPath(issues)) this.#errors.push(faultOf(issue, path, root))
    // Without a group there are no options to check.
    if (issues.some((issue) => !issue.path)) this.throwAny()
    let value = given
    for (let removed = issues.map(keysOf); removed.some(isBelow);) {
      for (const keys of removed.filter(isBelow)) value = without(value, keys)
      ;({ output, issues } = parsed(schema, value))
      // What is missing now is required by the group around it.
      removed = issues.map((issue) => keysOf(issue).slice(0, -1))
    }
    return output as Output
  }
}

/** Where a value is checked. */
export interface CheckOptions {
  /** The path of the value itself, before those of its options. */
  readonly path?: string
  /** All options: an unknown key that is the name of one of them is told its place. */
  readonly root?: Entries
}

/** The value as its schema gives it. Throws INVALID_OPTION and UNKNOWN_NAME, with every fault. */
export function check<Input, Output>(schema: Schema<Input, Output>, given: unknown, options: CheckOptions = {}): Output {
  const faults = new Faults()
  const output = faults.checked(schema, given, options)
  faults.throwAny()
  return output
}

type Issue = v.BaseIssue<unknown>

function parsed(schema: Schema, value: unknown): { readonly output: unknown; readonly issues: readonly Issue[] } {
  const { output, issues = [] as readonly Issue[] } = v.safeParse(schema, value)
  return { output, issues }
}

const isBelow = (keys: readonly string[]): boolean => keys.length > 0

function firstOfEachPath(issues: readonly Issue[]): Issue[] {
  return [...new Map(issues.toReversed().map((issue) => [pathOf(issue, ''), issue])).values()].reverse()
}

function faultOf(issue: Issue, prefix: string, root: Entries | undefined): ArbalestError {
  const path = pathOf(issue, prefix) || 'options'
  const key = String(issue.path?.at(-1)?.key)
  if (issue.type === 'picklist') {
    const { names, hints } = issue.requirement as NameList
    const hint = Object.entries(hints).find(([name]) => name === issue.input)?.[1]
    return unknownName(path, issue.input, names, hint)
  }
  if (issue.type === 'never') return invalidOption(path, issue.input, unknownKeyFix(path, key, issue, root))
  if (issue.type !== 'object_with_rest' || !issue.path) return invalidOption(path, issue.input, issue.message)
  const missing = parsed((issue.requirement as Entries)[key]!, undefined).issues[0]!
  return faultOf({ ...missing, path: issue.path }, prefix, root)
}

/** `learners.schedule[0].round` */
function pathOf({ path = [] as never }: Issue, prefix: string): string {
  return path.reduce((before, { key }) => {
    if (typeof key === 'number') return `${before}[${key}]`
    return before === '' ? String(key) : `${before}.${String(key)}`
  }, prefix)
}

/** The keys that lead to a value at fault, or to the array that holds it: an array without one of its members means something else. */
function keysOf({ path = [] as never }: Issue): readonly string[] {
  const keys = path.map(({ key }) => key)
  const index = keys.findIndex((key) => typeof key !== 'string')
  return (index < 0 ? keys : keys.slice(0, index)) as string[]
}

function without(value: unknown, [key, ...deeper]: readonly string[]): unknown {
  if (key === undefined || typeof value !== 'object' || value === null) return value
  const { [key]: inner, ...others } = value as Readonly<Record<string, unknown>>
  return deeper.length === 0 ? others : { ...others, ...(inner !== undefined && { [key]: without(inner, deeper) }) }
}

function unknownKeyFix(path: string, key: string, { input, requirement }: Issue, root: Entries | undefined): string {
  const { entries, elsewhere } = requirement as KnownKeys
  const known = Object.keys(entries)
  const british = known.find((name) => american(name) === key)
  if (british !== undefined) return `use the British spelling: ${british}`
  const foreign = Object.entries<Option>(entries).find(([, { about }]) => about?.also?.includes(key))
  if (foreign) return `use ${foreign[0]}`
  const owners = root ? [...optionsIn(root)].filter((each) => each.path === path) : []
  if (owners.length > 0) return foreignOptionFix(owners, entries)
  const places = root ? [...placesOf(key, root)].filter((each) => each.path !== path) : []
  // Of several options with that name those are meant that take the value.
  const place = places.find(({ option: meant }) => parsed(meant, input).issues.length === 0)
  if (place) return `its place is ${place.path}`
  if (Object.hasOwn(elsewhere, key)) return elsewhere[key]!
  if (places[0]) return `its place is ${places[0].path}`
  return known.length > 0 ? `use only ${known.join(', ')}${didYouMean(key, known)}` : 'leave it out: there are no options here'
}

/** For an option that belongs to another choice than the one that was made, which has `entries`. */
function foreignOptionFix(owners: readonly PlacedOption[], entries: Entries): string {
  const names = owners.flatMap(({ choice }) => choice?.name ?? [])
  if (names.length > 0 && names.length < owners[0]!.choice!.among.length)
    return `leave it out: only ${names.join(', ')} ${names.length > 1 ? 'have' : 'has'} it`
  const required = (of: Entries) => Object.keys(of).filter((name) => of[name]!.type !== 'optional')
  const [missing] = required(owners[0]!.group)
  return missing === undefined || names.length > 0
    ? `leave it out beside ${required(entries).join(', ')}`
    : `use it together with ${missing}`
}

function american(name: string): string {
  return name.replaceAll(/is(?=e|ation)/g, 'iz').replaceAll('olour', 'olor')
}

/** The options of this name that belong elsewhere: `until.monitor`. */
function* placesOf(name: string, root: Entries): Generator<PlacedOption> {
  for (const placed of optionsIn(root)) {
    const { path, option } = placed
    const own = path.slice(path.lastIndexOf('.') + 1)
    if (own === name || american(own) === name || option.about?.also?.includes(name)) yield placed
  }
}
