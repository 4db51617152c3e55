import type { TtaCase, TtaRule, Tuning } from './cases.js'

/** `batch`: finds the best batch. `tuning`: finds the rate and the momenta. `measured`: its figures are reported. */
export type Stage = 'batch' | 'tuning' | 'measured'

/** A run to be made: everything that determines its outcome. */
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

/** A run, and the epoch at which it is given up. */
export interface RunStep {
  readonly run: RunSpec
  readonly giveUpAt: number
}

/** The test accuracy of the central model after `epoch` epochs. */
export interface Point {
  readonly epoch: number
  readonly accuracy: number
}

/** The outcome of a run. It does not depend on the machine's load, because the time of an epoch is measured apart. */
export interface Outcome {
  /** `givenUp`: it could no longer be the best of its contest. */
  readonly end: 'reached' | 'notReached' | 'givenUp' | 'diverged'
  readonly points: readonly Point[]
}

/** A finished run: a line of the results file. */
export interface RunRecord {
  readonly spec: RunSpec
  readonly outcome: Outcome
  /** The time of the run with set-up, warm-up and evaluation, which is subtracted from the budget. */
  readonly spentSeconds: number
  readonly date: string
  readonly commit: string
  readonly machine: string
}

/** Two runs with the same key are the same run. */
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

/** The measured run of a case with these parameters. */
export function measuredRun(one: TtaCase, rule: TtaRule, learners: number, batch: number, tuning: Tuning, seed: number): RunSpec {
  const { model, data, target, weightDecay, precision, schedule, drops, epochs, evaluateEvery } = one
  const course = { weightDecay, precision, schedule, drops, epochs, evaluateEvery }
  return { stage: 'measured', model, data, target, rule, learners, batch, tuning, ...course, seed }
}

/**
 * The same run at another stage: on a seed that is never measured, and shortened, with its schedule, by the case's scale times `share`. Evaluations are as
 * frequent.
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
