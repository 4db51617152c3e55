import * as v from 'valibot'
import type { GroupRule } from '../engine/contract.js'
import { corruptFile } from '../formats/file-errors.js'
import type { EvaluatedEvent } from '../observe/events.js'
import { FIGURES, type Monitored } from '../options/until.js'
import { interventionList, type Intervention } from '../schedules/interventions.js'
import { MOST_LEARNERS, type PopulationSchedule } from '../schedules/population.js'
import type { RunIdentity } from './run-identity.js'
import type { Cut } from '../schedules/timeline.js'

/**
 * The iterations from which a rule has its period and takes its mean. A checkpoint keeps them: they may depend on the planned length of the run, and must
 * stay as they were when a resumed run has become longer.
 */
export interface RuleStarts {
  readonly period: number
  readonly mean: number
}

/** The learners that the options of a run ask for: `auto` if their number is tuned. */
export type AskedPopulation = PopulationSchedule | 'auto'

/** The state of a run in a checkpoint, besides the tensors. */
export interface RunState {
  readonly identity: RunIdentity
  readonly round: number
  readonly iteration: number
  /** Samples handed out. */
  readonly position: number
  /** Of training so far. */
  readonly seconds: number
  readonly population: PopulationSchedule
  /** The learners that the options asked for. Older versions did not write it. */
  readonly asked?: AskedPopulation
  /** Where this run ended before and was resumed. */
  readonly cuts: readonly Cut[]
  /** Older versions did not write it. */
  readonly ruleStarts?: RuleStarts
  /** All rates are multiplied by it. */
  readonly learningRateScale: number
  /** Ranks of the learners whose states are in the checkpoint; the others begin at the central model. */
  readonly learners: readonly number[]
  /** The places of the learners in the order in which they meet; absent if it is that of the places. */
  readonly order?: readonly number[]
  /** All evaluations of the run so far. */
  readonly measurements: readonly PastEvaluation[]
  /** The figure by which they are compared; absent if the run names none. */
  readonly monitor?: Monitored
  /** What programs have changed of the run so far, and which learners have died. Older versions did not write it. */
  readonly interventions?: readonly Intervention[]
}

/** An evaluation of the central model in the past of a run. */
export interface PastEvaluation {
  readonly event: EvaluatedEvent
  /** Of training before it. */
  readonly seconds: number
  /** Made because the run was stopped there: an undisturbed run measures nothing at this round. */
  readonly unplanned?: true
}

export function startsOf(rule: GroupRule): RuleStarts {
  if (rule.kind !== 'synchronous') return { period: 0, mean: 0 }
  return { period: rule.from, mean: rule.central.kind === 'mean' ? rule.central.from : 0 }
}

/** The rule with these starts instead of its own. */
export function startingAt(rule: GroupRule, { period, mean }: RuleStarts): GroupRule {
  if (rule.kind !== 'synchronous') return rule
  const { central } = rule
  return { ...rule, from: period, central: central.kind === 'mean' ? { ...central, from: mean } : central }
}

type Check = (value: unknown) => boolean

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isAmount: Check = (value) => Number.isFinite(value) && (value as number) >= 0
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isListOf =
  (isItem: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(isItem)
const isShare: Check = (value) => isAmount(value) && (value as number) <= 1

/** For each member a check, and what the check expects in words. */
const MEMBERS: { readonly [Name in keyof Required<RunState>]: readonly [holds: Check, expected: string] } = {
  identity: [(value) => isObject(value) && Object.values(value).every((text) => typeof text === 'string'), 'options as text'],
  round: [isCount, 'a whole number'],
  iteration: [isCount, 'a whole number'],
  position: [isCount, 'a whole number'],
  seconds: [isAmount, 'a number of at least 0'],
  population: [isSchedule, `numbers of learners from 1 to ${MOST_LEARNERS} by rising rounds from 0 on`],
  asked: [(value) => value === undefined || value === 'auto' || isSchedule(value), "numbers of learners by rounds, or 'auto'"],
  cuts: [isListOf(isCut), 'places of a round and an iteration'],
  ruleStarts: [(value) => value === undefined || isRuleStarts(value), 'two iterations'],
  learningRateScale: [isAmount, 'a number of at least 0'],
  learners: [isListOf(isCount), 'a list of ranks'],
  order: [(value) => value === undefined || isListOf(isCount)(value), 'a list of places'],
  measurements: [isListOf(isMeasurement), 'a list of evaluations'],
  monitor: [(value) => value === undefined || FIGURES.includes(value as Monitored), `one of ${FIGURES.join(', ')}`],
  interventions: [(value) => value === undefined || v.is(interventionList, value), 'a list of interventions']
}

/** Checks the state in the manifest of the checkpoint `folder`. Throws DATA_CORRUPT. */
export function checkedState(folder: string, state: unknown): RunState {
  if (!isObject(state)) throw corruptFile(folder, { where: 'state', expected: 'an object', found: JSON.stringify(state) })
  // Older versions did not write cuts.
  const whole: Readonly<Record<string, unknown>> = { cuts: [], ...state }
  for (const [name, [holds, expected]] of Object.entries(MEMBERS))
    if (!holds(whole[name]))
      throw corruptFile(folder, { where: `state.${name}`, expected, found: JSON.stringify(whole[name]) ?? 'nothing' })
  const { measurements } = whole as unknown as RunState
  return { ...(whole as unknown as RunState), measurements: measurements.map(asMeasured) }
}

/** The evaluation of the central model of this checkpoint; undefined if it was not measured. */
export function measuredHere({ iteration, measurements }: RunState): EvaluatedEvent | undefined {
  const last = measurements.at(-1)?.event
  return last?.iteration === iteration ? last : undefined
}

/** Whether an undisturbed run makes the last measurement, too: only such ones decide which model is the best, so that a run that was stopped and resumed keeps the same. */
export function isPlanned({ measurements }: Pick<RunState, 'measurements'>): boolean {
  return measurements.at(-1)?.unplanned === undefined
}

/** JSON writes NaN as null; as a number, null would be 0 and below every target loss. */
function asMeasured({ event, ...about }: PastEvaluation): PastEvaluation {
  const { testLoss, testPerplexity, ...rest } = event
  const perplexity = testPerplexity !== undefined && { testPerplexity: testPerplexity ?? NaN }
  return { event: { ...rest, testLoss: testLoss ?? NaN, ...perplexity }, ...about }
}

function isSchedule(value: unknown): boolean {
  if (!Array.isArray(value) || value.length === 0) return false
  let before = -1
  for (const change of value as unknown[]) {
    if (!isObject(change) || !isCount(change['round']) || !isCount(change['learners'])) return false
    const { round, learners } = change as unknown as PopulationSchedule[number]
    if (round <= before || (before < 0 && round > 0) || learners < 1 || learners > MOST_LEARNERS) return false
    before = round
  }
  return true
}

function isCut(value: unknown): boolean {
  return isObject(value) && isCount(value['round']) && isCount(value['iteration'])
}

function isRuleStarts(value: unknown): boolean {
  return isObject(value) && isCount(value['period']) && isCount(value['mean'])
}

function isMeasurement(value: unknown): boolean {
  if (!isObject(value) || !isAmount(value['seconds']) || !isObject(value['event'])) return false
  if (value['unplanned'] !== undefined && value['unplanned'] !== true) return false
  const { iteration, epoch, testLoss, testAccuracy, seconds } = value['event']
  const isLoss = testLoss === null || typeof testLoss === 'number'
  return isLoss && isCount(iteration) && [epoch, seconds].every(isAmount) && (testAccuracy === null || isShare(testAccuracy))
}
