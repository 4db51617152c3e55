import { isDeepStrictEqual } from 'node:util'
import { type AskedPopulation, type RunState, startingAt } from '../checkpoints/run-state.js'
import type { GroupRule } from '../engine/contract.js'
import { ArbalestError, invalidOption } from '../errors.js'
import { iterationSamples, type Settings } from '../options/settings.js'
import { ownRule } from '../rules/own-rule.js'
import type { RuleContext } from '../rules/rule.js'
import { changedRule } from '../rules/changed-rule.js'
import { ruleOf } from '../rules/rules.js'
import { instability } from '../rules/stability.js'
import {
  changedPopulation,
  followedPopulation,
  isTuned,
  periodChanges,
  ruleChanges,
  type Intervention
} from '../schedules/interventions.js'
import { changedAt, learnersAt, mostLearners, type PopulationSchedule } from '../schedules/population.js'
import { Timeline, type Cut, type PeriodChange } from '../schedules/timeline.js'

/** The most iterations by which learners may be ahead of exact reports. The engine keeps the losses of 65,536. */
export const MOST_AHEAD = 8_192
const LONGEST_ROUND = 65_536 - MOST_AHEAD

/** The settings of a run whose data is known. */
export interface RunSettings extends Settings {
  /** The synchroniser's rule at the run's beginning; its numbers depend on the length of an epoch. */
  readonly rule: GroupRule
  /** Where the run ended before and was resumed. */
  readonly cuts: readonly Cut[]
  /** What programs have changed of the run before it was resumed. */
  readonly changes: readonly Intervention[]
  /** The learners that the options ask for. */
  readonly asked: AskedPopulation
}

/** The rule after all that programs have changed of it, which was checked when they did. */
export function presentRule({ rule, changes }: Pick<RunSettings, 'rule' | 'changes'>): GroupRule {
  return ruleChanges(changes).reduce((changed, change) => changedRule(changed, change, 1), rule)
}

/** Makes the rule for `samples` training samples. A module of the user's own needs `loadRunSettings`. Throws INVALID_OPTION. */
export function runSettings(settings: Settings, samples: number): RunSettings {
  const { name, options, module } = settings.synchroniser
  if (module)
    throw new ArbalestError('INVALID_STATE', `synchroniser.module: received ${module.href}; it has to be loaded: use loadRunSettings`)
  return begunWith(settings, ruleOf(name, options, ruleContext(settings, samples)))
}

/** As `runSettings`, and loads a rule of the user's own. Throws what `ownRule` throws, too. */
export async function loadRunSettings(settings: Settings, samples: number): Promise<RunSettings> {
  const { options, module } = settings.synchroniser
  if (!module) return runSettings(settings, samples)
  const most = mostLearners({ schedule: settings.population.schedule })
  return begunWith(settings, await ownRule(module, options, ruleContext(settings, samples), most))
}

/** As the run has them at its beginning. */
function begunWith(settings: Settings, rule: GroupRule): RunSettings {
  const { population, interventions } = settings
  const schedule = followedPopulation(population.schedule, interventions)
  const asked = population.tuning ? 'auto' : population.schedule
  return { ...settings, population: { ...population, schedule }, rule, cuts: [], changes: [], asked }
}

/** Throws INVALID_OPTION if the engine could forget losses before they are reported. */
export function checkReports({ logEvery, onStep, rule }: Pick<RunSettings, 'logEvery' | 'onStep' | 'rule'>): void {
  if ((logEvery === undefined && onStep === undefined) || rule.period <= LONGEST_ROUND) return
  const [name, value] = onStep ? ['onStep', 'a function'] : ['logEvery', logEvery]
  throw invalidOption(
    name,
    value,
    `leave it out, or let rounds be at most ${LONGEST_ROUND} iterations long: synchroniser.period is ${rule.period}`
  )
}

/** As `checkReports`, for a change of the period while the run trains. */
export function checkPeriod(period: number | undefined, { logEvery, onStep }: Pick<RunSettings, 'logEvery' | 'onStep'>): void {
  if (period === undefined || period <= LONGEST_ROUND || (logEvery === undefined && onStep === undefined)) return
  throw invalidOption('period', period, `use at most ${LONGEST_ROUND}: ${onStep ? 'onStep' : 'logEvery'} is told of every iteration`)
}

/** Throws INVALID_OPTION if the rule of a run that goes on, as programs have changed it, is not stable with its learners, or has rounds too long for its reports. */
export function checkResumed(settings: RunSettings): void {
  const { learners, population, cuts } = settings
  checkReports({ ...settings, rule: presentRule(settings) })
  const later = population.schedule.filter(({ round }) => round > cuts.at(-1)!.round)
  const most = Math.max(learners, ...later.map((change) => change.learners))
  const unstable = instability(presentRule(settings), most)
  if (unstable) throw invalidOption('learners', most, `${unstable} since a program has changed it: use fewer`)
}

/**
 * The settings with which a run goes on from a checkpoint. A tuned run goes on with the learners that it had, or `fewest` if these were fewer; others follow their given
 * schedule. Throws INVALID_OPTION where that has fewer.
 */
export function resumedSettings(settings: RunSettings, state: RunState, fewest = 1): RunSettings {
  const { round, iteration, population: history, learningRateScale, ruleStarts } = state
  const { schedule, tuning } = settings.population
  const changes = [...(state.interventions ?? []), ...askedAnew(settings, state)]
  const given = changedPopulation(schedule, changes, settings.interventions)
  const before = history.filter((change) => change.round <= round)
  const had = learnersAt(tuning ? before : given, round)
  const learners = tuning ? Math.max(fewest, had) : had
  const now = learnersAt(before, round) === learners ? before : changedAt(before, { round, learners })
  const resumed = tuning ? now : [...now, ...given.filter((change) => change.round > round)]
  const least = Math.min(learners, ...resumed.filter((change) => change.round > round).map((change) => change.learners))
  if (least < fewest)
    throw invalidOption('learners', least, `the run was resized to so many before its checkpoint: use at most ${least} hosts`)
  return {
    ...settings,
    rule: ruleStarts ? startingAt(settings.rule, ruleStarts) : settings.rule,
    cuts: [...state.cuts.filter((cut) => cut.round < round), { round, iteration }],
    learningRateScale: Math.min(settings.learningRateScale, learningRateScale),
    learners,
    population: { ...settings.population, schedule: resumed },
    changes
  }
}

/** What was not asked for before, a number of learners or a tuner, takes over from what programs have set: it is recorded as what is set last. */
function askedAnew({ asked, interventions }: RunSettings, state: RunState): readonly Intervention[] {
  const { round, iteration, interventions: made = [] } = state
  if (interventions.length > 0 || state.asked === undefined || isDeepStrictEqual(state.asked, asked)) return []
  if (asked === 'auto') return isTuned(made) ? [] : [{ kind: 'tuning', round, iteration, on: true }]
  if (asked.length > 1 || made.every(({ kind }) => kind !== 'resize')) return []
  return [{ kind: 'resize', round, iteration, learners: asked[0]!.learners }]
}

function ruleContext(settings: Settings, samples: number): RuleContext {
  const { until, population } = settings
  // Only of the first population: a tuned run does not know its later ones, but its repetition, which has them as its schedule, does.
  const first = population.schedule.slice(0, 1)
  const timeline = timelineOf(settings, first)
  // The engine counts iterations in whole numbers; a run never comes so far.
  const iterationAt = (epoch: number) => Math.min(Number.MAX_SAFE_INTEGER, timeline.iterationBy(epoch * samples))
  const iterations = Math.min(until.steps, iterationAt(until.epochs))
  return { learners: first[0]!.learners, iterations, iterationAt }
}

/** Rounds, iterations and samples of a run. Without a rule every round is one iteration. */
export function timelineOf(
  settings: Settings,
  population: PopulationSchedule,
  run?: Pick<RunSettings, 'rule' | 'cuts' | 'changes'>
): Timeline {
  const { rule, cuts = [], changes = [] } = run ?? {}
  const { period = 1 } = rule ?? {}
  const from = rule?.kind === 'synchronous' ? rule.from : 0
  // The native group counts in the same way: from the last cut on.
  const { round, iteration } = cuts.at(-1) ?? { round: 0, iteration: 0 }
  const start: PeriodChange = { round: from > 0 ? Math.min(from, round + Math.max(0, from - iteration)) : 0, period }
  const changed = periodChanges(changes)
  // What is changed before the period begins holds from there.
  const first = changed.findLast((change) => change.round <= start.round) ?? start
  const later = changed.filter((change) => change.round > start.round)
  const periods = [...(start.round > 0 ? [{ round: 0, period: 1 }] : []), { ...start, period: first.period }, ...later]
  return new Timeline({ population, periods, cuts, batch: iterationSamples(settings) })
}
