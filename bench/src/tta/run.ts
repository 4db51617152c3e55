import type { TtaCase, TtaRule, Tuning } from './cases.js'

/** `batch`: which batch is best. `tuning`: which rate and momenta. `measured`: what is told. */
export type Stage = 'batch' | 'tuning' | 'measured'

/** A run that is to be made: all that decides its outcome. */
export interface RunSpec {
  readonly stage: Stage
  readonly model: string
  readonly data: string
  readonly target: number
  readonly rule: TtaRule
  readonly learners: number
  readonly batch: number
  readonly tuning: Tuning
  readonly weightDecay: number
  readonly precision: TtaCase['precision']
  readonly schedule: TtaCase['schedule']
  readonly drops: readonly number[]
  readonly epochs: number
  readonly evaluateEvery: number
  readonly seed: number
}

/** A run, which is given up after so many epochs. */
export interface RunStep {
  readonly run: RunSpec
  readonly giveUpAt: number
}

/** The central model on the test set after so many epochs. */
export interface Point {
  readonly epoch: number
  readonly accuracy: number
}

/** What came of a run. The same on a busy machine as on an idle one: what an epoch takes is measured apart. */
export interface Outcome {
  /** `givenUp`: it could no longer be the best of its contest. */
  readonly end: 'reached' | 'notReached' | 'givenUp' | 'diverged'
  readonly points: readonly Point[]
}

/** A finished run: a line of the results file. */
export interface RunRecord {
  readonly spec: RunSpec
  readonly outcome: Outcome
  /** That the run took with set-up, warm-up and evaluation: what a budget is spent on. */
  readonly spentSeconds: number
  readonly date: string
  readonly commit: string
  readonly machine: string
}

/** Two runs of the same key are the same run. */
export function keyOf(spec: RunSpec): string {
  const {
    stage,
    model,
    data,
    target,
    rule,
    learners,
    batch,
    tuning,
    weightDecay,
    precision,
    schedule,
    drops,
    epochs,
    evaluateEvery,
    seed
  } = spec
  const { rate, momentum, syncMomentum } = tuning
  return JSON.stringify([
    [stage, model, data, target, rule, learners, batch],
    [rate, momentum, syncMomentum, weightDecay, precision, schedule, drops, epochs, evaluateEvery, seed]
  ])
}

/** A measured run of a case. */
export function measuredRun(one: TtaCase, rule: TtaRule, learners: number, batch: number, tuning: Tuning, seed: number): RunSpec {
  const { model, data, target, weightDecay, precision, schedule, drops, epochs, evaluateEvery } = one
  const course = { weightDecay, precision, schedule, drops, epochs, evaluateEvery }
  return { stage: 'measured', model, data, target, rule, learners, batch, tuning, ...course, seed }
}

/**
 * The same as a run of another stage: on a seed that is never measured, and shortened, with the rate's drops, as the case says and by `share` of that;
 * evaluations are as many an epoch.
 */
export function tuningRun(one: TtaCase, stage: 'batch' | 'tuning', spec: RunSpec, share = 1): RunSpec {
  const shortened = (epochs: number) => Number((epochs * one.tuningScale * share).toPrecision(3))
  return { ...spec, stage, drops: spec.drops.map(shortened), epochs: shortened(spec.epochs), seed: TUNING_SEED }
}

/** A tuning run on the seed that the finalists share. */
export function finalRun(spec: RunSpec): RunSpec {
  return { ...spec, seed: TUNING_SEED + 1 }
}

/** Measured runs have the seeds 1, 2, 3 and so on. */
const TUNING_SEED = 1001
