import { createHash } from 'node:crypto'
import { describeError, type LearnerFailure } from '../actors/learner-failure.js'
import type { Synchroniser } from '../actors/synchroniser.js'
import type { Resumption } from '../checkpoints/resume.js'
import type { RunState } from '../checkpoints/run-state.js'
import type { SetAside } from '../checkpoints/set-aside.js'
import type { EvaluatedEvent, FinishedEvent, LearnerLostEvent, ResumedEvent, SetAsideEvent, StartedEvent } from '../observe/events.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import type { Intervention } from '../schedules/interventions.js'
import { learnersAt, type PopulationSchedule } from '../schedules/population.js'
import { replayed, StoppingRules } from './evaluation-rules.js'
import type { PreparedRun } from './prepare/prepare.js'
import { perSecond } from './report/progress-meter.js'

export function startedEvent({ model, dataset, settings, programs, schedule, need, restoration, hosts }: PreparedRun): StartedEvent {
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
    iterations: schedule.iterations,
    bytesPerLearner: need.perLearner,
    bytesShared: need.shared,
    ...(dataset.columns && { columns: dataset.columns }),
    ...restoration,
    ...(hosts && { hosts: hosts.host.size })
  }
}

/** Why a run has ended before it is resumed; undefined if it goes on. */
export function endBefore(
  { round, measurements }: RunState,
  { settings, schedule }: Pick<PreparedRun, 'settings' | 'schedule'>
): ResumedEvent['ended'] {
  return replayed(new StoppingRules(settings.until), measurements) ?? (round >= schedule.rounds ? 'completed' : undefined)
}

export function resumedEvent(
  { folder, state }: Resumption,
  { refused, ...run }: Pick<PreparedRun, 'settings' | 'schedule' | 'refused'>
): ResumedEvent {
  const { round, iteration } = state
  const ended = endBefore(state, run)
  return { event: 'resumed', folder, round, iteration, refused, ...(ended && { ended }) }
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

export interface RunEnd {
  /** The measurement of the model that is kept. */
  readonly kept: EvaluatedEvent
  /** Why the run ended before its last iteration, if it is known. */
  readonly ended: FinishedEvent['reason'] | undefined
  /** Of training. */
  readonly seconds: number
  /** Iterations planned. */
  readonly planned: number
  readonly population: PopulationSchedule
  readonly interventions: readonly Intervention[]
  /** In the training set. */
  readonly samples: number
  readonly peakDeviceBytes: number
  /** Whether all checkpoints were written; undefined for a run without checkpoints. */
  readonly checkpoints: FinishedEvent['checkpoints']
  /** Processes that have trained together; undefined if this one trained alone. */
  readonly hosts: number | undefined
  readonly hint: string | undefined
}

export async function finishedEvent(
  synchroniser: ActorRef<Synchroniser>,
  { kept, ended, seconds, planned, population, interventions, samples, peakDeviceBytes, checkpoints, hosts, hint }: RunEnd
): Promise<FinishedEvent> {
  const { testLoss, testAccuracy, testPerplexity, testTopK, testMetrics, iteration } = kept
  const { iterations, position, round } = await synchroniser.ask.status()
  return {
    event: 'finished',
    reason: ended ?? (iterations < planned ? 'stopped' : 'completed'),
    keptIteration: iteration,
    testAccuracy,
    testLoss,
    ...(testPerplexity !== undefined && { testPerplexity }),
    ...(testTopK !== undefined && { testTopK }),
    ...(testMetrics && { testMetrics }),
    imagesPerSecond: perSecond(position, seconds),
    // A change at the round at which the run ended has not been made.
    learners: learnersAt(population, Math.max(0, round - 1)),
    population: population.filter((change) => change.round < Math.max(1, round)),
    epochs: position / samples,
    iterations,
    seconds,
    peakDeviceBytes,
    weightsSha256: weightsSha256(await synchroniser.ask.centralVector()),
    ...(interventions.length > 0 && { interventions }),
    ...(checkpoints && { checkpoints }),
    ...(hosts !== undefined && { hosts }),
    ...(hint !== undefined && { hint })
  }
}

/** Numbers that are converted for the hash at one go: a copy of a whole model would not fit beside one that is larger than its device. */
const HASHED_AT_ONCE = 2 ** 16

/** Of float32 values, little-endian. */
function weightsSha256(weights: Float32Array | Float64Array): string {
  const hash = createHash('sha256')
  for (let from = 0; from < weights.length; from += HASHED_AT_ONCE) {
    const piece = weights.subarray(from, from + HASHED_AT_ONCE)
    const bytes = new DataView(new ArrayBuffer(piece.length * 4))
    piece.forEach((weight, i) => bytes.setFloat32(4 * i, weight, true))
    hash.update(bytes)
  }
  return hash.digest('hex')
}
