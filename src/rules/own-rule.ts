import * as v from 'valibot'
import type { GroupRule, SynchronousRule } from '../engine/contract.js'
import { messageOf } from '../errors.js'
import { exportedNames, moduleRefusal, ownModule, type ModuleMention } from '../own-module.js'
import { check, Faults } from '../schema/faults.js'
import { group, option, required, variants } from '../schema/group.js'
import { oneOf, orNull, real, truth, whole, type Schema } from '../schema/values.js'
import { LONGEST_PERIOD, type RuleContext } from './rule.js'
import { instabilityOf } from './stability.js'

/** The default export of a module with a rule of the user's own: a function from its options, {} if omitted, and the run's context to the rule's data. */
export type RuleModule<Options = unknown> = (options: Options, context: RuleContext) => GroupRule

/**
 * The rule must be stable with `most` learners, the largest number that is known at the run's start. Throws INVALID_OPTION where the module exports no
 * rule or throws, or where the rule is not stable; INVALID_OPTION or UNKNOWN_NAME where the module returns something that is no rule.
 */
export async function ownRule(module: URL, options: unknown, context: RuleContext, most = context.learners): Promise<GroupRule> {
  const mention = { parameter: 'synchroniser.module', module: module.href }
  const exported = await ownModule(mention)
  const make = exported['default']
  if (typeof make !== 'function')
    throw moduleRefusal(mention, `it exports ${exportedNames(exported)}; export a function as its default: (options, run) => rule`)
  const made = ruleMadeBy(make as RuleModule, options ?? {}, context, mention)
  if (made instanceof Promise)
    throw moduleRefusal(mention, 'it gave a Promise; give the rule itself, for await what it needs at the top of the module')
  return checkedRule(made, most)
}

function ruleMadeBy(make: RuleModule, options: unknown, context: RuleContext, mention: ModuleMention): unknown {
  try {
    return make(options, context)
  } catch (cause) {
    throw moduleRefusal(mention, `it throws where it makes the rule: ${messageOf(cause)}`, cause)
  }
}

const momentum = () => required(real({ min: 0, below: 1 }))
const iteration = () => required(whole())
const iterations = () => required(whole({ min: 1, max: LONGEST_PERIOD }))
const kindOf = <const Kind extends string>(kind: Kind) => required(v.literal(kind))

const slack = { slack: option(whole({ max: 64 })), latest: option(truth()) }

const central = variants('kind', {
  sma: group({
    kind: kindOf('sma'),
    alpha: required(orNull(real({ above: 0, below: 1 }))),
    momentum: momentum(),
    lockstep: option(truth())
  }),
  outer: group({
    kind: kindOf('outer'),
    learningRate: required(real({ above: 0 })),
    momentum: momentum(),
    nesterov: required(truth()),
    perLearningRate: required(truth())
  }),
  mean: group({ kind: kindOf('mean'), from: iteration() }),
  optimiser: group({ kind: kindOf('optimiser'), ...slack }),
  updates: group({ kind: kindOf('updates'), readMyWrites: required(truth()), ...slack })
})

const exchange = variants('kind', {
  push: group({ kind: kindOf('push'), push: iterations(), fetch: iterations() }),
  inPlace: group({ kind: kindOf('inPlace') })
})

const rule: Schema<GroupRule> = variants('kind', {
  synchronous: group({
    kind: kindOf('synchronous'),
    central: required(central),
    adopts: required(truth()),
    period: iterations(),
    from: iteration(),
    push: option(oneOf(['early', 'late'])),
    pull: option(oneOf(['bucket', 'whole']))
  }),
  asynchronous: group({
    kind: kindOf('asynchronous'),
    exchange: required(exchange),
    slack: required(orNull(whole())),
    period: iterations()
  })
})

/** Throws INVALID_OPTION or UNKNOWN_NAME, with every fault. */
function checkedRule(given: unknown, learners: number): GroupRule {
  const made = check(rule, given, { path: 'rule' })
  const faults = new Faults()
  if (made.kind === 'synchronous') refuseContradictions(made, learners, faults)
  faults.throwAny()
  return made
}

function refuseContradictions({ central: centralModel, adopts, period }: SynchronousRule, learners: number, faults: Faults): void {
  const { kind } = centralModel
  const everyIteration = kind === 'optimiser' || kind === 'updates'
  if (everyIteration && !adopts) faults.refuse('rule.adopts', adopts, `with ${kind} learners adopt the central model`)
  if (everyIteration && period !== 1) faults.refuse('rule.period', period, `with ${kind} every iteration is a round`)
  if (centralModel.kind !== 'sma') return
  const unstable = instabilityOf(centralModel, learners)
  if (unstable) faults.refuse('rule.central.alpha', centralModel.alpha, unstable)
}
