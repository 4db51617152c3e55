import { unknownName } from '../errors.js'

/** The rules that are compared: gradients averaged in every step against models averaged in every step. */
export const RULES = ['ssgd', 'sma', 'easgd'] as const
export type TtaRule = (typeof RULES)[number]

/** What a rule is tuned over: as many for each rule, so that all of them have the same budget. */
export interface Tuning {
  readonly rate: number
  /** The learners' own; under S-SGD that of the one optimiser. */
  readonly momentum: number
  /** The central model's (mu): SMA's alone, and never 0, with which SMA is EA-SGD. */
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
  /** What each rule is tuned over: as many for each, so that all have the same budget. */
  readonly tunings: Readonly<Record<TtaRule, readonly Tuning[]>>
  /** So many best of a grid are run again on a second seed, and both seeds decide; with 1 the first seed decides alone. */
  readonly finalists: number
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

/** Momentum of the learners', at each rate. */
const heavy = (rates: readonly number[], syncMomentum = 0): readonly Tuning[] =>
  rates.map((rate) => ({ rate, momentum: 0.9, syncMomentum }))

/** None of the learners', at ten times each rate, so that a step goes as far. */
const plain = (rates: readonly number[], syncMomentum = 0): readonly Tuning[] =>
  rates.map((rate) => ({ rate: Number((10 * rate).toPrecision(6)), momentum: 0, syncMomentum }))

/** Momentum with the learners or without, at each rate. SMA's central model has 0.9, as in its paper; beside momentum of the learners' 0.5. */
function grids(rates: readonly number[]): TtaCase['tunings'] {
  const alike = [...heavy(rates), ...plain(rates)]
  return { ssgd: alike, easgd: alike, sma: [...heavy(rates, 0.5), ...plain(rates, 0.9)] }
}

/** Where there is time for four tunings: without momentum a rule that has none elsewhere is left out. */
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
