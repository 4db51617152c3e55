import { basename } from 'node:path'
import { takesUpdates } from '../rules/parameter-server.js'
import { namedRule, NO_RULES, ruleNames, ruleOf, type NamedRule, type RuleName } from '../rules/rules.js'
import { Faults } from '../schema/faults.js'
import { group, option, orShort, required, type CheckedOptions } from '../schema/group.js'
import { jsonFromText } from '../schema/from-text.js'
import { either, kind, oneOf } from '../schema/values.js'
import { moduleUrl } from './module-url.js'

/** A rule by its name, with its options. */
export type SynchroniserOptions = NamedRule

const ownRule = group({
  module: required(moduleUrl('a rule'), {
    text: 'a module that exports a rule of your own (docs/synchronisers.md)',
    flag: '--sync-module <file>',
    chooses: true
  }),
  options: option(
    kind<unknown>(() => true, ''),
    { text: 'options of the rule of your own', flag: '--sync-options <json>', fromText: jsonFromText, takes: 'anything' }
  )
})

/** A rule of the user's own: the module that exports it, and its options. */
export interface OwnRuleOptions {
  /** The module whose default export is a RuleModule: its URL, or the path of its file. */
  readonly module: URL | string
  /** What the module's function is given; {} if omitted. */
  readonly options?: unknown
}

/** A URL by itself is meant to be that of a module. */
const synchroniser = either([orShort(oneOf(ruleNames, NO_RULES), namedRule, 'name'), ownRule], (value) =>
  typeof value === 'object' && value !== null && ('module' in value || 'href' in value) ? 1 : 0
)

export const synchroniserOptions = {
  /** How the learners are kept together: a rule by its name, alone or with its options; `sma` if omitted. See docs/synchronisers.md. */
  synchroniser: option<RuleName | SynchroniserOptions | OwnRuleOptions, CheckedOptions<typeof synchroniser>, 'sma'>(synchroniser, {
    default: 'sma'
  }),
  /** The module of a synchroniser actor of your own, which takes the place of the built-in one: its class extends `Synchroniser` of `arbalest/actors`. */
  synchroniserActor: option(moduleUrl('a synchroniser'), {
    text: 'a module that exports a synchroniser actor of your own (docs/actors-of-a-run.md)'
  })
}

/** How the learners are kept together; the rule itself is made when the length of an epoch is known. */
export type SynchroniserSettings =
  | { readonly name: RuleName; readonly options: object; readonly module?: undefined }
  /** A rule of the user's own. */
  | { readonly name: string; readonly options: unknown; readonly module: URL }

/** The length of an epoch makes no difference to what a rule refuses, nor to its kind. */
const ANY_EPOCH = { iterations: 0, iterationAt: () => 0 } as const

export function synchroniserSettings(faults: Faults, given: CheckedOptions<typeof synchroniser>, learners: number): SynchroniserSettings {
  if ('module' in given) return { name: basename(given.module.pathname), options: given.options, module: given.module }
  const { name, ...options } = given
  checkRule(faults, { name, options }, learners)
  return { name, options }
}

function checkRule(faults: Faults, { name, options }: { readonly name: RuleName; readonly options: object }, learners: number): void {
  faults.attempt(() => ruleOf(name, options, { ...ANY_EPOCH, learners }))
}

/** Whether the rule takes this number of learners: averaging with a given alpha is stable up to some. A rule of the user's own is not asked. */
export function isStableWith({ name, options, module }: SynchroniserSettings, learners: number): boolean {
  const faults = new Faults()
  if (module === undefined) checkRule(faults, { name, options }, learners)
  return faults.none
}

/** Whether the learners have Nesterov's momentum. */
export function hasNesterovLearners({ name, module }: SynchroniserSettings): boolean {
  return module === undefined && name === 'eamsgd'
}

/** Whether the learners wait for no round; of a rule of the user's own that is known once it is made. */
export function isAsynchronous({ name, module, options }: SynchroniserSettings): boolean {
  if (module !== undefined) return false
  return ruleOf(name, options, { ...ANY_EPOCH, learners: 1 }).kind === 'asynchronous'
}

/** Whether the rule adds its learners' updates to the central model, instead of taking their mean. */
export function addsUpdates({ name, module, options }: SynchroniserSettings): boolean {
  if (module !== undefined) return false
  return name === 'downpour' || name === 'hogwild' || (name === 'parameter-server' && takesUpdates(options))
}
