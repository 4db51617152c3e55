import { duration, isRising, type Duration } from '../schedules/duration.js'
import { learningRateOrSchedule, scheduleNames, type LearningRateSchedule } from '../schedules/learning-rates.js'
import type { Faults } from '../schema/faults.js'
import { group, option, type GivenOptions } from '../schema/group.js'
import { realFromText } from '../schema/from-text.js'
import { either, kind, list, oneOf, real } from '../schema/values.js'
import type { Defaults } from './defaults.js'

export const learningRateOptions = {
  /**
   * A number, which `schedule` varies over the run, or a schedule such as `cosine({ learningRate: 0.1 })`. The default suits the model, the batch, and
   * rules that add up their learners' updates.
   */
  learningRate: option<number | LearningRateSchedule, number | LearningRateSchedule>(learningRateOrSchedule, {
    text: 'learning rate',
    flag: '--lr, --learning-rate <number>',
    otherwise: 'depends on the model',
    common: true,
    also: ['lr', 'rate']
  }),
  /**
   * How a learning rate that is a number varies over the run. The default suits the model, and is `multistep` if `milestones` or `gamma` is given. `multistep`
   * drops where it suits the model, `step` after each third of the run, `exponential` falls to 1% over the run.
   */
  schedule: option(oneOf(scheduleNames), {
    text: `how the learning rate varies over the run: ${scheduleNames.join(', ')}`,
    flag: '--lr-schedule <name>',
    otherwise: 'depends on the model',
    also: ['scheduler', 'lrScheduler', 'lr_scheduler', 'lr_scheduler_type']
  }),
  /** Epochs, or another duration, in which the learning rate rises linearly from 0 to the schedule's. */
  warmup: option<Duration, Duration>(
    either([kind<Duration>(() => true, ''), duration], (value) => (value === 0 ? 0 : 1)),
    {
      text: 'epochs in which the learning rate rises linearly to that of its schedule',
      flag: '--warmup <epochs>',
      fromText: realFromText,
      otherwise: '0',
      also: ['warmupEpochs', 'warmup_epochs', 'warmupSteps', 'warmup_steps']
    }
  ),
  /** Epochs at which the learning rate is multiplied by `gamma`; under `sma`, `easgd` and `eamsgd` every learner then restarts from the central model. */
  milestones: option(list(real({ above: 0, unit: 'epochs' }), 'a list of epochs above 0, each later than the one before'), {
    text: 'epochs at which the learning rate is multiplied by gamma: 80,120',
    flag: '--milestones <epochs>',
    otherwise: 'depends on the model'
  }),
  /** The factor of a drop; 0.1 if omitted. */
  gamma: option(real({ above: 0, max: 1 }), {
    text: 'factor of a drop of the learning rate',
    flag: '--gamma <number>',
    otherwise: '0.1',
    also: ['decay']
  })
}

const learningRateGroup = group(learningRateOptions)
type LearningRateOptions = GivenOptions<typeof learningRateGroup>

/** The learning rate over the run: the schedule that was given, or the one that a number and a name stand for. */
export function scheduleSettings(faults: Faults, options: LearningRateOptions, defaults: Defaults): LearningRateSchedule {
  const { learningRate = defaults.learningRate, schedule, milestones, gamma, warmup = 0 } = options
  if (typeof learningRate !== 'number')
    for (const [name, value] of Object.entries({ schedule, milestones, gamma }))
      if (value !== undefined) faults.refuse(`optimiser.${name}`, value, 'leave it out: optimiser.learningRate is a schedule of its own')
  const whole = typeof learningRate === 'number' ? namedSchedule(faults, learningRate, options, defaults) : learningRate
  return warmup === 0 ? whole : { kind: 'warmup', duration: warmup, schedule: whole }
}

function namedSchedule(faults: Faults, learningRate: number, options: LearningRateOptions, defaults: Defaults): LearningRateSchedule {
  const { milestones, gamma = defaults.gamma } = options
  // Milestones or a gamma mean that there are drops.
  const usual = milestones === undefined && options.gamma === undefined ? defaults.schedule : 'multistep'
  const { schedule = usual } = options
  if (schedule !== 'step' && schedule !== 'multistep' && options.gamma !== undefined)
    faults.refuse('optimiser.gamma', options.gamma, `leave it out: ${schedule} has no drops`)
  if (schedule !== 'multistep' && milestones !== undefined)
    faults.refuse('optimiser.milestones', milestones, `leave them out: ${schedule} has none`)
  if (milestones !== undefined && !isRising(milestones))
    faults.refuse('optimiser.milestones', milestones, 'give a list of epochs above 0, each later than the one before')
  switch (schedule) {
    case 'multistep':
      return {
        kind: schedule,
        learningRate,
        gamma,
        milestones: milestones ?? defaults.milestones.map((fraction): Duration => ({ fraction }))
      }
    case 'step':
      return { kind: schedule, learningRate, gamma, period: { fraction: 1 / 3 } }
    case 'exponential':
      return { kind: schedule, learningRate, gamma: 0.01, period: { fraction: 1 } }
    default:
      return { kind: schedule, learningRate }
  }
}
