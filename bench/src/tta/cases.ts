import { unknownName } from '../errors.js'

/** The rules that are compared: gradients averaged in every step against models averaged in every step. */
export const RULES = ['ssgd', 'sma', 'easgd'] as const
export type TtaRule = (typeof RULES)[number]

/** What a rule is tuned over: as many for each rule, so that all of them have the same budget. */
export interface Tuning {
  readonly rate: number
  /** The learners' own; under S-SGD that of the one optimiser. */
  readonly momentum: number
  /** The central model's (mu): SMA only. */
  readonly syncMomentum: number
}

/** A model that has to reach an accuracy on a data set. */
export interface TtaCase {
  readonly name: string
  /** As the report heads it. */
  readonly title: string
  readonly model: string
  readonly data: string
  /** Test accuracy, a share. */
  readonly target: number
  readonly learners: readonly number[]
  /** Samples of a learner's step, of which the best is taken. */
  readonly batches: readonly number[]
  /** Rates beside a momentum of 0.9; ten times these beside none, so that a step goes as far. */
  readonly rates: readonly number[]
  readonly weightDecay: number
  readonly precision: 'f32' | 'bf16'
  /** The rate's course: it drops to a tenth at `drops`, or rises and falls once over the whole run. */
  readonly schedule: 'multistep' | 'one-cycle'
  /** Epochs; none where the rate has one cycle. */
  readonly drops: readonly number[]
  /** A run that has not reached the target by this epoch has not reached it. */
  readonly epochs: number
  /** Epochs between two evaluations. */
  readonly evaluateEvery: number
  /** Length of a tuning run, of a measured one; the rate's course is as much shorter. */
  readonly tuningScale: number
  /** Measured runs of each rule and number of learners. */
  readonly runs: number
}

const CASES: readonly TtaCase[] = [
  {
    name: 'digits',
    title: 'MLP on generated digits',
    model: 'mlp',
    data: 'digits',
    target: 0.95,
    learners: [1, 2],
    batches: [16],
    rates: [0.01, 0.04],
    weightDecay: 1e-4,
    precision: 'f32',
    schedule: 'multistep',
    drops: [],
    epochs: 6,
    evaluateEvery: 0.25,
    tuningScale: 1,
    runs: 2
  },
  {
    name: 'lenet',
    title: 'LeNet on MNIST',
    model: 'lenet',
    data: 'mnist',
    target: 0.99,
    learners: [1, 2, 4],
    batches: [16, 32, 64],
    rates: [0.005, 0.01, 0.02],
    weightDecay: 5e-4,
    precision: 'f32',
    schedule: 'multistep',
    drops: [],
    epochs: 10,
    evaluateEvery: 0.25,
    tuningScale: 1,
    runs: 5
  },
  {
    name: 'resnet20',
    title: 'ResNet-20 on CIFAR-10',
    model: 'resnet20',
    data: 'cifar-10',
    target: 0.88,
    learners: [1, 2, 4],
    batches: [16, 32],
    rates: [0.05, 0.1],
    weightDecay: 5e-4,
    precision: 'bf16',
    schedule: 'one-cycle',
    drops: [],
    epochs: 18,
    evaluateEvery: 0.5,
    tuningScale: 0.25,
    runs: 3
  }
]

export const caseNames: readonly string[] = CASES.map(({ name }) => name)

/** Throws UNKNOWN_NAME. */
export function caseNamed(name: string): TtaCase {
  const found = CASES.find((one) => one.name === name)
  if (!found) throw unknownName('case', name, caseNames)
  return found
}

/**
 * The grid of a rule: momentum with the learners or without, at each rate. SMA without momentum of its learners has it on the central model, as
 * in its paper; with it on both, k learners are stable only at far smaller rates.
 */
export function tuningsOf({ rates }: Pick<TtaCase, 'rates'>, rule: TtaRule): readonly Tuning[] {
  return [0.9, 0].flatMap((momentum) =>
    rates.map((rate) => ({
      rate: momentum === 0 ? Number((10 * rate).toPrecision(6)) : rate,
      momentum,
      syncMomentum: rule === 'sma' && momentum === 0 ? 0.9 : 0
    }))
  )
}
