import type { GroupRule } from '../engine/contract.js'
import { invalidOption, messageOf, together, unknownName, type ArbalestError } from '../errors.js'
import { exportedNames, moduleRefusal, ownModule, type ModuleMention } from '../own-module.js'
import type { RuleContext } from './rule-options.js'
import { stableAlpha } from './sma.js'

/** What the module of a user's own rule exports as its default: from its options, {} where none are given, and what may be known of the run, the rule's data. */
export type RuleModule<Options = unknown> = (options: Options, context: RuleContext) => GroupRule

/** Throws INVALID_OPTION where the module exports no rule or throws, and INVALID_OPTION or UNKNOWN_NAME where what it gives is none. */
export async function ownRule(module: URL, options: unknown, context: RuleContext): Promise<GroupRule> {
  const mention = { parameter: 'synchroniser.module', module: module.href }
  const exported = await ownModule(mention)
  const make = exported['default']
  if (typeof make !== 'function')
    throw moduleRefusal(mention, `it exports ${exportedNames(exported)}; export a function as its default: (options, run) => rule`)
  const made = ruleMadeBy(make as RuleModule, options ?? {}, context, mention)
  if (made instanceof Promise)
    throw moduleRefusal(mention, 'it gave a Promise; give the rule itself, for await what it needs at the top of the module')
  checkRule(made, context.learners)
  return made
}

function ruleMadeBy(make: RuleModule, options: unknown, context: RuleContext, mention: ModuleMention): unknown {
  try {
    return make(options, context)
  } catch (cause) {
    throw moduleRefusal(mention, `it throws where it makes the rule: ${messageOf(cause)}`, cause)
  }
}

type Shape = Readonly<Record<string, (value: unknown) => boolean>>

const whole = (least: number) => (value: unknown) => Number.isSafeInteger(value) && (value as number) >= least
const real = (holds: (value: number) => boolean) => (value: unknown) => typeof value === 'number' && Number.isFinite(value) && holds(value)
const truth = (value: unknown) => typeof value === 'boolean'
const orNull = (holds: (value: unknown) => boolean) => (value: unknown) => value === null || holds(value)
const orLeftOut = (holds: (value: unknown) => boolean) => (value: unknown) => value === undefined || holds(value)
const momentum = real((value) => value >= 0 && value < 1)

const RULES: Readonly<Record<GroupRule['kind'], Shape>> = {
  synchronous: { adopts: truth, period: whole(1), from: whole(0) },
  asynchronous: { slack: orNull(whole(0)), period: whole(1) }
}

const CENTRAL: Readonly<Record<string, Shape>> = {
  sma: { alpha: orNull(real((value) => value > 0 && value < 1)), momentum, lockstep: orLeftOut(truth) },
  outer: { learningRate: real((value) => value > 0), momentum, nesterov: truth, perLearningRate: truth },
  mean: { from: whole(0) },
  optimiser: {}
}

const EXCHANGE: Readonly<Record<string, Shape>> = { push: { push: whole(1), fetch: whole(1) }, inPlace: {} }

function checkRule(rule: unknown, learners: number): asserts rule is GroupRule {
  const refusals: ArbalestError[] = []
  const shaped = (path: string, value: unknown, kinds: Readonly<Record<string, Shape>>, others: readonly string[]) => {
    const given = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>
    const { kind } = given
    if (typeof kind !== 'string' || !Object.hasOwn(kinds, kind)) refusals.push(unknownName(`${path}.kind`, kind, Object.keys(kinds)))
    else {
      const shape = kinds[kind]!
      for (const [name, holds] of Object.entries(shape))
        if (!holds(given[name]))
          refusals.push(invalidOption(`${path}.${name}`, given[name], 'see docs/synchronisers.md for what it may be'))
      for (const name of Object.keys(given))
        if (name !== 'kind' && !Object.hasOwn(shape, name) && !others.includes(name))
          refusals.push(invalidOption(`${path}.${name}`, given[name], `use only ${['kind', ...Object.keys(shape), ...others].join(', ')}`))
    }
    return given
  }
  const given = shaped('rule', rule, RULES, ['central', 'exchange'])
  if (given['kind'] === 'asynchronous') shaped('rule.exchange', given['exchange'], EXCHANGE, [])
  if (given['kind'] === 'synchronous') {
    const central = shaped('rule.central', given['central'], CENTRAL, [])
    if (refusals.length === 0) refusals.push(...contradictions(given, central, learners))
  }
  const [first, ...others] = refusals
  if (first) throw together([first, ...others])
}

function* contradictions(rule: Readonly<Record<string, unknown>>, central: Readonly<Record<string, unknown>>, learners: number) {
  const { kind, alpha, momentum: mu } = central
  if (kind === 'optimiser' && rule['adopts'] !== true)
    yield invalidOption('rule.adopts', rule['adopts'], 'where the group has the optimiser, learners adopt the central model')
  if (kind === 'optimiser' && rule['period'] !== 1)
    yield invalidOption('rule.period', rule['period'], 'where the group has the optimiser, every iteration is a round')
  const bound = stableAlpha(learners, mu as number)
  if (kind === 'sma' && typeof alpha === 'number' && alpha >= bound)
    yield invalidOption('rule.central.alpha', alpha, `with ${learners} learners averaging is stable below ${bound.toPrecision(4)}`)
}
