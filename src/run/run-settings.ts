import { startingAt } from '../checkpoints/rule-starts.js'
import type { RunState } from '../checkpoints/run-state.js'
import { ArbalestError } from '../errors.js'
import type { GroupRule } from '../engine/contract.js'
import { iterationSamples, type Settings } from '../options/settings.js'
import { ownRule } from '../rules/own-rule.js'
import type { RuleContext } from '../rules/rule-options.js'
import { ruleOf } from '../rules/rules.js'
import { changedAt, learnersAt, type PopulationSchedule } from '../schedules/population.js'
import { Timeline, type Cut } from '../schedules/timeline.js'

/** Settings, and the rule by which the learners of this run are kept together. */
export interface RunSettings extends Settings {
  readonly rule: GroupRule
  /** Where the run had ended before it was told to go on. */
  readonly cuts: readonly Cut[]
}

/** The rule's options made its numbers, now that the length of an epoch is known. Throws INVALID_OPTION. */
export function runSettings(settings: Settings, samples: number): RunSettings {
  const { name, options, module } = settings.synchroniser
  if (module)
    throw new ArbalestError('INVALID_STATE', `synchroniser.module: received ${module.href}; it has to be loaded: use loadedSettings`)
  return { ...settings, rule: ruleOf(name, options, runContext(settings, samples)), cuts: [] }
}

/** The same, also for a rule of the user's own. Throws what `ownRule` throws, too. */
export async function loadedSettings(settings: Settings, samples: number): Promise<RunSettings> {
  const { options, module } = settings.synchroniser
  if (!module) return runSettings(settings, samples)
  return { ...settings, rule: await ownRule(module, options, runContext(settings, samples)), cuts: [] }
}

/** The settings of a run that goes on, from where it is: the learners that it had, or as many as are wanted now. */
export function resumedSettings(settings: RunSettings, state: RunState): RunSettings {
  const { round, iteration, population: history, learningRateScale, ruleStarts } = state
  const { schedule: given, tuning } = settings.population
  const before = history.filter((change) => change.round <= round)
  const learners = learnersAt(tuning ? before : given, round)
  const now = learnersAt(before, round) === learners ? before : changedAt(before, { round, learners })
  const schedule = tuning ? before : [...now, ...given.filter((change) => change.round > round)]
  return {
    ...settings,
    rule: ruleStarts ? startingAt(settings.rule, ruleStarts) : settings.rule,
    cuts: [...state.cuts.filter((cut) => cut.round < round), { round, iteration }],
    learningRateScale: Math.min(settings.learningRateScale, learningRateScale),
    learners,
    population: { ...settings.population, schedule }
  }
}

function runContext(settings: Settings, samples: number): RuleContext {
  const { until, population } = settings
  // By the first population alone: what is to come of it a tuned run does not know, and its repetition does.
  const timeline = timelineOf(settings, population.schedule.slice(0, 1))
  const iterationAt = (epoch: number) => timeline.iterationBy(epoch * samples)
  const iterations = Math.min(until.steps, iterationAt(until.epochs))
  const learners = Math.max(...population.schedule.map((change) => change.learners))
  return { learners, iterations, iterationAt }
}

/** When rounds and epochs begin; before the rule is made every round is one iteration. */
export function timelineOf(settings: Settings, population: PopulationSchedule, run?: Pick<RunSettings, 'rule' | 'cuts'>): Timeline {
  const { rule, cuts = [] } = run ?? {}
  const { period = 1 } = rule ?? {}
  const from = rule?.kind === 'synchronous' ? rule.from : 0
  // As the group reckons it, which goes on from the last cut.
  const { round, iteration } = cuts.at(-1) ?? { round: 0, iteration: 0 }
  const periods =
    from > 0
      ? [
          { round: 0, period: 1 },
          { round: Math.min(from, round + Math.max(0, from - iteration)), period }
        ]
      : [{ round: 0, period }]
  return new Timeline({ population, periods, cuts, batch: iterationSamples(settings) })
}
