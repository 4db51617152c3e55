import { describeError, type LearnerFailure } from '../actors/learner-failure.js'
import type { SetAside } from '../checkpoints/set-aside.js'
import type { LearnerLostEvent, PlannedEvent, ResumedEvent, SetAsideEvent, StartedEvent } from '../observe/events.js'
import type { PreparedRun } from './prepare.js'
import type { Resumption } from '../checkpoints/resume.js'
import { scheduleOf, type Schedule } from './schedule.js'
import { plannedPrograms } from './trial.js'

/** What a dry run would be, were it none. */
export function plannedEvent({ programs, planned, dataset, need, room }: PreparedRun): PlannedEvent {
  const { learners, batch, population } = planned
  return {
    event: 'planned',
    programs: plannedPrograms(programs),
    learners,
    stepsAnEpoch: Math.ceil(dataset.train.count / (learners * batch)),
    steps: scheduleOf(planned, dataset.train.count, population.schedule).iterations,
    bytesPerLearner: need.perLearner,
    bytesShared: need.shared,
    bytesFree: room.free
  }
}

export function startedEvent({ model, dataset, settings, programs, need }: PreparedRun, { iterations }: Schedule): StartedEvent {
  const { learners, batch, precision, seed, synchroniser } = settings
  return {
    event: 'started',
    model: model.name,
    data: dataset.name,
    learners,
    batch,
    precision,
    synchroniser: synchroniser.name,
    seed,
    parameters: programs.train.parameters.elements,
    samples: dataset.train.count,
    iterations,
    bytesPerLearner: need.perLearner,
    bytesShared: need.shared
  }
}

export function resumedEvent({ folder, state: { round, iteration } }: Resumption, refused: ResumedEvent['refused']): ResumedEvent {
  return { event: 'resumed', folder, round, iteration, refused }
}

export function setAsideEvent(moved: readonly SetAside[], refused: ResumedEvent['refused']): SetAsideEvent {
  const reasons = new Map(refused.map(({ folder, reason }) => [folder, reason]))
  const checkpoints = moved.map(({ folder, movedTo }) => ({ folder, movedTo, reason: reasons.get(folder) ?? null }))
  return { event: 'setAside', checkpoints }
}

export function lostEvent({ learner, rank, error, round, iteration, replacedBy, vacant }: LearnerFailure): LearnerLostEvent {
  const { code } = error as { code?: unknown }
  return {
    event: 'learnerLost',
    learner,
    rank,
    reason: describeError(error),
    code: typeof code === 'string' ? code : null,
    round,
    iteration,
    replacedBy,
    vacant
  }
}
