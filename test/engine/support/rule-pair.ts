import { expect } from 'chai'
import { ruleOf, type NamedRule } from '../../../src/rules/rules.js'
import type { EngineBackend } from '../../../src/compiler/program.js'
import type { GroupRule } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'
import { GroupRun, type GroupPlan } from './group-run.js'
import {
  PlainDiLoCo,
  PlainEamsgd,
  PlainLocalSgd,
  PlainLookahead,
  PlainParameterServer,
  PlainPolyakRuppert,
  PlainSlowMo,
  PlainSma,
  PlainSsgd,
  type Gradients,
  type PlainRule
} from './plain-rules.js'
import { largestDifference, randomSamples, smallTraining } from './small-training.js'

const NUMBERS = { rate: 0.02, momentum: 0.9, decay: 1e-3 }
/** Enough for the changes of `PIECES` and the tenth round, after which a case begins to average. */
export const FEW_ROUNDS = 14
/** A rate an iteration, in pieces whose last holds on; changes fall within rounds, too. */
const PIECES = [
  { from: 0, rates: [0.02, 0.01, 0.03, 0.02] },
  { from: 10, rates: [0.005, 0.025] },
  { from: 41, rates: [0.015] }
]
export const OPTIMISER = { momentum: 0.9, weightDecay: 1e-3 }
const BATCH = 4
const CLOSE = 1e-5
/** Another outer optimiser than any rule has by default. */
const OUTER = { outerLearningRate: 0.4, outerMomentum: 0.3 }

export const rule = ({ name = 'sma', ...options }: NamedRule, learners: number): GroupRule =>
  ruleOf(name, options, { learners, iterations: 0, iterationAt: (epoch) => epoch })

export interface RuleCase {
  readonly options: (period: number) => NamedRule
  readonly plain: (initial: Float32Array) => PlainRule
  readonly periods?: readonly number[]
  readonly nesterov?: boolean
  /** Whether a group under it may have levels. */
  readonly levels?: false
  /** Whether it may span hosts. */
  readonly hosts?: false
}

/** Every rule whose round sums over its learners, and its publication. */
export const CASES: Record<string, RuleCase> = {
  sma: { options: (period) => ({ name: 'sma', period, syncMomentum: 0.3 }), plain: (initial) => new PlainSma(initial, NUMBERS, 0.3) },
  'sma in lockstep': {
    options: (period) => ({ name: 'sma', period, syncMomentum: 0.3, lockstep: true }),
    plain: (initial) => new PlainSma(initial, NUMBERS, 0.3),
    levels: false
  },
  'sma with an alpha of its own': {
    options: (period) => ({ name: 'sma', period, alpha: 0.15, syncMomentum: 0.3 }),
    plain: (initial) => new PlainSma(initial, NUMBERS, 0.3, 0.15)
  },
  easgd: { options: (period) => ({ name: 'easgd', period }), plain: (initial) => new PlainSma(initial, NUMBERS, 0) },
  eamsgd: {
    options: (period) => ({ name: 'eamsgd', period }),
    plain: (initial) => new PlainEamsgd(initial, NUMBERS),
    nesterov: true
  },
  ssgd: { options: () => ({ name: 'ssgd' }), plain: (initial) => new PlainSsgd(initial, NUMBERS), periods: [1] },
  'parameter-server': {
    options: () => ({ name: 'parameter-server', slack: 2 }),
    plain: (initial) => new PlainParameterServer(initial, NUMBERS, 2, 'gradients'),
    periods: [1]
  },
  'parameter-server of updates': {
    options: () => ({ name: 'parameter-server', slack: 2, apply: 'updates' }),
    plain: (initial) => new PlainParameterServer(initial, NUMBERS, 2, 'updates'),
    periods: [1],
    hosts: false
  },
  'parameter-server of updates that its learners see late': {
    options: () => ({ name: 'parameter-server', slack: 3, apply: 'updates', readMyWrites: false }),
    plain: (initial) => new PlainParameterServer(initial, NUMBERS, 3, 'updates', false),
    periods: [1]
  },
  'polyak-ruppert': {
    options: (period) => ({ name: 'polyak-ruppert', period }),
    plain: (initial) => new PlainPolyakRuppert(initial, NUMBERS)
  },
  'polyak-ruppert from the tenth round': {
    options: (period) => ({ name: 'polyak-ruppert', period, startEpoch: 10 * period }),
    plain: (initial) => new PlainPolyakRuppert(initial, NUMBERS, 10)
  },
  'local-sgd': { options: (period) => ({ name: 'local-sgd', period }), plain: (initial) => new PlainLocalSgd(initial, NUMBERS) },
  lookahead: { options: (period) => ({ name: 'lookahead', period }), plain: (initial) => new PlainLookahead(initial, NUMBERS) },
  slowmo: { options: (period) => ({ name: 'slowmo', period }), plain: (initial) => new PlainSlowMo(initial, NUMBERS) },
  diloco: { options: (period) => ({ name: 'diloco', period }), plain: (initial) => new PlainDiLoCo(initial, NUMBERS) },
  'lookahead with a share of its own': {
    options: (period) => ({ name: 'lookahead', period, outerLearningRate: 0.8 }),
    plain: (initial) => new PlainLookahead(initial, NUMBERS, 0.8)
  },
  'slowmo with numbers of its own': {
    options: (period) => ({ name: 'slowmo', period, ...OUTER }),
    plain: (initial) => new PlainSlowMo(initial, NUMBERS, OUTER)
  },
  'diloco with numbers of its own': {
    options: (period) => ({ name: 'diloco', period, ...OUTER }),
    plain: (initial) => new PlainDiLoCo(initial, NUMBERS, OUTER)
  }
}

/** The engine's group and a plain model side by side. */
export class Pair {
  readonly run: GroupRun
  readonly plain: PlainRule
  readonly #adopts: boolean
  #iterations = 0
  #rounds = 0

  constructor(
    backend: EngineBackend,
    { plain, nesterov = false }: RuleCase,
    how: GroupRule,
    levels: Pick<GroupPlan, 'devices' | 'levels'> = {}
  ) {
    const { program, initial } = smallTraining(backend, { ...OPTIMISER, nesterov }, { batch: BATCH })
    this.run = new GroupRun(program, randomSamples(300), { initial, rule: how, ...levels })
    for (const { from, rates } of PIECES) engine.setLearningRates(this.run.group, from, Float32Array.from(rates))
    this.plain = plain(initial)
    this.#adopts = how.kind === 'synchronous' && how.adopts
  }

  join(learner: number): void {
    this.run.add(learner)
    this.plain.join(learner)
  }

  /** One iteration of all, then a look at all of them. `dies`: a learner that has its gradient and does not come to the meeting. */
  iterate(ends: boolean, what: string, dies?: number): void {
    const { run, plain } = this
    for (const j of plain.learners.keys()) run.compute(j)
    // Where learners adopt the central model they do so when the next round begins.
    if (this.#adopts) this.#compare(what)
    const gradients: Gradients = new Map([...plain.learners.keys()].filter((j) => j !== dies).map((j) => [j, run.gradients(j)]))
    plain.rate = rateOf(this.#iterations++)
    plain.iterate(gradients, ends)
    for (const j of gradients.keys()) run.finish(j)
    if (dies !== undefined) {
      engine.evict(run.group, dies)
      plain.learners.delete(dies)
    }
    if (ends) run.reached(++this.#rounds)
    if (!this.#adopts) this.#compare(what)
    expect(largestDifference(run.central(), plain.z), `central model, ${what}`).below(CLOSE)
  }

  #compare(what: string): void {
    for (const [j, { w }] of this.plain.learners) expect(largestDifference(this.run.weights(j), w), `learner ${j}, ${what}`).below(CLOSE)
  }
}

/** A group equals its rule's publication in every iteration, from its first round to the last of `rounds`. Returns the group. */
export function expectPublication(
  backend: EngineBackend,
  each: RuleCase,
  { learners, period, rounds, levels }: { learners: number; period: number; rounds: number; levels?: Pick<GroupPlan, 'devices' | 'levels'> }
): GroupRun {
  const pair = new Pair(backend, each, rule(each.options(period), learners), levels)
  for (let j = 0; j < learners; j++) pair.join(j)
  for (let t = 0; t < rounds * period; t++)
    pair.iterate(t % period === period - 1, `${learners} learners, period ${period}, iteration ${t}, ${JSON.stringify(levels)}`)
  const iterations = rounds * period
  expect(engine.groupStatus(pair.run.group)).to.include({ round: rounds, iterations, position: iterations * learners * BATCH })
  return pair.run
}

function rateOf(iteration: number): number {
  const { from, rates } = PIECES.findLast((piece) => piece.from <= iteration)!
  return rates[iteration - from] ?? rates.at(-1)!
}
