import { unknownName } from '../errors.js'

/** The rules that are compared: one averages gradients in every step, two average models in every step. */
export const RULES = ['ssgd', 'sma', 'easgd'] as const
export type TtaRule = (typeof RULES)[number]

/** The hyperparameters of a rule. */
export interface Tuning {
  readonly rate: number
  /** The learners' momentum; under S-SGD that of the one optimiser. */
  readonly momentum: number
  /** The momentum of SMA's central model (mu); it is never 0, because SMA would then be EA-SGD. */
  readonly syncMomentum: number
}

/** A model, a data set and the accuracy to reach. */
export interface TtaCase {
  readonly name: string
  /** Its heading in the report. */
  readonly title: string
  readonly model: string
  readonly data: string
  /** The test accuracy to reach, from 0 to 1. */
  readonly target: number
  readonly learners: readonly number[]
  /** The candidates for the number of samples of a learner's step. */
  readonly batches: readonly number[]
  /** The candidates for each rule's hyperparameters: equally many, so that all rules have the same budget. */
  readonly tunings: Readonly<Record<TtaRule, readonly Tuning[]>>
  /** The number of best tunings that run again on a second seed; both seeds then decide. With 1 the first seed decides alone. */
  readonly finalists: number
  readonly weightDecay: number
  readonly precision: 'f32' | 'bf16'
  /** The learning rate drops to a tenth at `drops`, or rises and falls once in the run. */
  readonly schedule: 'multistep' | 'one-cycle'
  /** Epochs; none with one cycle. */
  readonly drops: readonly number[]
  /** The length of a run. */
  readonly epochs: number
  /** Epochs between two evaluations. */
  readonly evaluateEvery: number
  /** The length of a tuning run divided by that of a measured one; its schedule is scaled likewise. */
  readonly tuningScale: number
  /** The number of measured runs of each rule and number of learners. */
  readonly runs: number
}

/** Tunings with momentum of the learners. */
const heavy = (rates: readonly number[], syncMomentum = 0): readonly Tuning[] =>
  rates.map((rate) => ({ rate, momentum: 0.9, syncMomentum }))

/** Tunings without momentum of the learners, at ten times each rate, so that the steps are as long. */
const plain = (rates: readonly number[], syncMomentum = 0): readonly Tuning[] =>
  rates.map((rate) => ({ rate: Number((10 * rate).toPrecision(6)), momentum: 0, syncMomentum }))

/** Tunings with and without momentum of the learners. The momentum of SMA's central model is 0.9, as in its paper, and 0.5 beside that of the learners. */
function grids(rates: readonly number[]): TtaCase['tunings'] {
  const alike = [...heavy(rates), ...plain(rates)]
  return { ssgd: alike, easgd: alike, sma: [...heavy(rates, 0.5), ...plain(rates, 0.9)] }
}

/** There is time for four tunings only: S-SGD and EA-SGD have none without momentum. */
const RESNET_RATES = heavy([0.025, 0.05, 0.1, 0.2])

const CASES: readonly TtaCase[] = [
  {
    name: 'digits',
    title: 'MLP on generated digits',
    model: 'mlp',
    data: 'digits',
    target: 0.95,
    learners: [1, 2],
    batches: [16],
    tunings: grids([0.01, 0.04]),
    finalists: 1,
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
    tunings: grids([0.005, 0.01, 0.02]),
    finalists: 2,
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
    tunings: { ssgd: RESNET_RATES, easgd: RESNET_RATES, sma: [...heavy([0.05, 0.1], 0.5), ...plain([0.05, 0.1], 0.9)] },
    finalists: 1,
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
