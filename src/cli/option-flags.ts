import { Option, type Command } from 'commander'
import { invalidOption } from '../errors.js'
import { givesList, truthFromText } from '../schema/from-text.js'
import type { Entries } from '../schema/group.js'
import { optionsIn, shortOf, summariesOf, type OptionSummary } from '../schema/options-in.js'
import { invalidFlag } from './flag-values.js'

/** The values of the flags that were given, by the names that commander gives them. */
export type FlagValues = Readonly<Record<string, unknown>>

interface OptionFlag extends OptionSummary {
  readonly flag: string
}

/** The flags of a schema's options. */
export class OptionFlags {
  readonly #entries: Entries
  readonly #options: readonly OptionFlag[]

  constructor(entries: Entries) {
    this.#entries = entries
    this.#options = summariesOf(entries).filter((each): each is OptionFlag => each.flag !== undefined)
  }

  /** Adds the flags of the options that `isMeant` picks, all of them if it is omitted. */
  addTo(command: Command, isMeant: (option: OptionSummary) => boolean = () => true): void {
    for (const option of this.#options) {
      if (!isMeant(option)) continue
      command.addOption(flagOf(option))
      if (isTruth(option)) command.addOption(oppositeOf(option))
    }
  }

  /**
   * The options with the flags' values in their places over them; a group that a flag switches on stays as it is. `train` and `explain` check the values,
   * as they do for other callers.
   */
  over(options: object, values: FlagValues): Record<string, unknown> {
    const all: Record<string, unknown> = { ...options }
    for (const name of Object.keys(all)) if (this.#isReplaced(name, all[name], values)) delete all[name]
    for (const option of this.#options) {
      const value = valueOf(option, values)
      if (value === undefined) continue
      const [outer, inner] = option.path.split('.') as [string, string?]
      if (inner !== undefined) {
        this.#checkIsOn(outer, option, values)
        all[outer] = { ...this.#groupOf(outer, all[outer]), [inner]: value }
      } else if (!(value === true && isGroup(all[outer]))) all[outer] = value
    }
    return all
  }

  /**
   * The option at a path as it is typed: `optimiser.learningRate` is `--learning-rate`, `learners.schedule[0].round` is
   * `--learners.schedule[0].round`. With `values`, only flags that were given are named.
   */
  nameOf(path: string, values?: FlagValues): string | undefined {
    const found = this.#options.find((each) => each.path === path) ?? this.#options.find((each) => isBelow(path, each.path))
    if (!found || (values && valueOf(found, values) === undefined)) return undefined
    return `${new Option(found.flag).long}${path.slice(found.path.length)}`
  }

  /** The flag of the option that has this name in another library: `--batch-size` is `--batch`. */
  flagMeantBy(typed: string): string | undefined {
    const plain = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, '')
    for (const { path, option } of optionsIn(this.#entries))
      if (option.about?.also?.some((name) => plain(name) === plain(typed))) return this.nameOf(path)
    return undefined
  }

  /** Refuses a flag of a group that another flag switches off. */
  #checkIsOn(group: string, option: OptionFlag, values: FlagValues): void {
    const whole = this.#options.find(({ path }) => path === group)
    if (!whole || valueOf(whole, values) !== false) return
    throw invalidOption(option.path, valueOf(option, values), `omit it, or --no-${new Option(whole.flag).name()}`)
  }

  /** Whether a flag chooses another optimiser, synchroniser or average than the config does. */
  #isReplaced(group: string, configured: unknown, values: FlagValues): boolean {
    const [byName, ...others] = this.#options.filter(({ path, chooses }) => chooses && isBelow(path, group))
    if (!byName) return false
    const chosen = [byName, ...others].map((each) => valueOf(each, values)).find((value) => value !== undefined)
    const { name = byName.fallback, ...rest } = this.#groupOf(group, configured)
    const isOwn = others.some(({ path }) => rest[path.slice(group.length + 1)] !== undefined)
    return chosen !== undefined && (isOwn || chosen !== name)
  }

  /** The options of a group that may be given as a text alone. */
  #groupOf(group: string, configured: unknown): Readonly<Record<string, unknown>> {
    if (typeof configured !== 'string') return { ...(configured as object | undefined) }
    return { [shortOf(this.#entries[group]!) ?? 'name']: configured }
  }
}

function flagOf({ flag, text, fromText, fallback, of }: OptionFlag): Option {
  const notes = [of.join(', '), fallback === undefined ? '' : `default: ${fallback}`].filter((note) => note !== '')
  const option = new Option(flag, `${text}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`)
  if (!fromText || !option.required || option.variadic) return option
  const valueIn = (given: string) => fromText(given, (fix) => invalidFlag(option.long!, given, fix))
  if (!givesList(fromText)) return option.argParser(valueIn)
  // A list that is given in several parts: the last part alone would leave out the others.
  return option.argParser((given: string, before: readonly unknown[] | undefined) => [
    ...(before ?? []),
    ...(valueIn(given) as readonly unknown[])
  ])
}

function isTruth({ flag, fromText }: OptionFlag): boolean {
  return fromText === truthFromText && !new Option(flag).required
}

/** `--no-nesterov` goes over a config that has it. The help shows it where the option may be on by default. */
function oppositeOf({ flag, fallback }: OptionFlag): Option {
  const name = new Option(flag).name()
  return new Option(`--no-${name}`, `the opposite of --${name}`).hideHelp(fallback === undefined)
}

function valueOf({ flag }: OptionFlag, values: FlagValues): unknown {
  return values[new Option(flag).attributeName()]
}

/** Options of a group, as a config gives them. */
function isGroup(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isBelow(path: string, outer: string): boolean {
  return path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`)
}
