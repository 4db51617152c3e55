import { basename } from 'node:path'
import { ruleOf, rules, type RuleName } from '../rules/rules.js'
import type { Defaults } from './defaults.js'
import type { TrainOptions } from './train-options.js'
import { moduleAddress } from './learner.js'
import type { OptionChecks } from './option-checks.js'

/** How the learners are kept together; the rule itself is made when the length of an epoch is known. */
export type SynchroniserSettings =
  | { readonly name: RuleName; readonly options: object; readonly module?: undefined }
  /** A rule of the user's own. */
  | { readonly name: string; readonly options: unknown; readonly module: URL }

const NAMES = Object.keys(rules) as [RuleName, ...RuleName[]]
const NOTHING: SynchroniserSettings = { name: 'sma', options: {} }

export function synchroniserSettings(
  checks: OptionChecks,
  given: TrainOptions['synchroniser'],
  learners: number,
  { syncMomentum }: Defaults
): SynchroniserSettings {
  if (typeof given === 'string') return { name: checks.name('synchroniser', given, NAMES), options: {} }
  if (given !== undefined && (typeof given !== 'object' || given === null)) {
    checks.refuse('synchroniser', given, 'give the name of a rule, or an object with it and its options')
    return NOTHING
  }
  if (given !== undefined && 'module' in given) {
    const { module: asked, options, ...others } = given
    for (const [name, value] of Object.entries(others)) checks.refuse(`synchroniser.${name}`, value, 'use only module, options')
    const module = moduleAddress(checks, 'synchroniser.module', asked, 'a rule')
    return module ? { name: basename(module.pathname), options, module } : NOTHING
  }
  const { name: asked = 'sma', ...own } = given ?? {}
  const name = checks.name('synchroniser.name', asked, NAMES)
  const options = name === 'sma' ? { syncMomentum, ...own } : own
  // Whatever the length of an epoch is, the options are right or wrong.
  if (name === asked) checks.attempt(() => ruleOf(name, options, { learners, iterations: 0, iterationAt: () => 0 }))
  return { name, options }
}

/** Whether the rule is one whose learners have Nesterov's momentum. */
export function hasNesterovLearners(given: TrainOptions['synchroniser']): boolean {
  return nameOf(given) === 'eamsgd'
}

/** Whether the rule adds all that its learners do to the central model, and takes no mean of it. */
export function addsUpdates(given: TrainOptions['synchroniser']): boolean {
  return ['downpour', 'hogwild'].includes(nameOf(given) ?? '')
}

/** Of one of ours; there is nothing to be said of a user's own. */
function nameOf(given: TrainOptions['synchroniser']): string | undefined {
  if (typeof given !== 'object' || given === null) return given
  return 'name' in given ? given.name : undefined
}
