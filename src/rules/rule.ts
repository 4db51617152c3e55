import type { GroupRule } from '../engine/contract.js'
import { Faults } from '../schema/faults.js'
import { group, option, type CheckedOptions, type Entries, type OptionGroup, type GivenOptions } from '../schema/group.js'
import { real, whole } from '../schema/values.js'

/** What a rule may depend on of its run. */
export interface RuleContext {
  /** The number of learners at the run's start. A tuned run and its repetition have other ones later. */
  readonly learners: number
  /** The iterations that the run will have. */
  readonly iterations: number
  /** The first iteration after a number of epochs. */
  readonly iterationAt: (epoch: number) => number
}

/** From options to the plain data that the engine's group carries out. Throws INVALID_OPTION and UNKNOWN_NAME, with every fault. */
export interface Rule<E extends Entries, Context, Data extends GroupRule> {
  (options: GivenOptions<OptionGroup<E>>, ...context: unknown extends Context ? [context?: Context] : [context: Context]): Data
  readonly options: OptionGroup<E>
  /** From checked options; refuses what contradicts something else. */
  make(options: CheckedOptions<OptionGroup<E>>, context: Context, faults: Faults): Data
}

export function defineRule<const E extends Entries, Data extends GroupRule, Context = unknown>(
  entries: E,
  make: Rule<E, Context, Data>['make']
): Rule<E, Context, Data> {
  const options = group(entries)
  const rule = (given: GivenOptions<OptionGroup<E>>, ...[context]: readonly [context?: Context]): Data => {
    const faults = new Faults()
    const data = make(faults.checked(options, given, { path: 'synchroniser' }), context as Context, faults)
    faults.throwAny()
    return data
  }
  return Object.assign(rule, { options, make })
}

/** The most iterations of a round, and from one push or fetch to the next. */
export const LONGEST_PERIOD = 2 ** 30

/** Iterations of a round. */
export const periodOf = <const Iterations extends number>(iterations: Iterations) =>
  option(whole({ min: 1, max: LONGEST_PERIOD }), { text: 'iterations of a round, tau', flag: '--period <iterations>', default: iterations })

/** An epoch, also a part of one. */
export const startEpoch = (otherwise: string) =>
  option(real({ min: 0, unit: 'epochs' }), {
    text: 'epoch from which on polyak-ruppert averages rounds, and until which post-local-sgd averages in every iteration',
    flag: '--sync-start-epoch <epoch>',
    otherwise
  })

/** The options that `lookahead`, `slowmo` and `diloco` have for the step of the central model. */
export const outerLearningRate = <const Rate extends number>(usual: Rate, max?: number) =>
  option(real({ above: 0, ...(max !== undefined && { max }) }), {
    text: 'learning rate of the outer step',
    flag: '--outer-lr <number>',
    default: usual
  })

export const outerMomentum = <const Momentum extends number>(usual: Momentum) =>
  option(real({ min: 0, below: 1 }), { text: 'momentum of the outer step', flag: '--outer-momentum <number>', default: usual })
