import { createHash } from 'node:crypto'
import type { CourseOptions } from './run-loop-options.js'
import type { Crew } from './run-actors.js'
import type { EvaluatedEvent, FinishedEvent } from '../observe/events.js'
import { learnersAt } from '../schedules/population.js'
import { perSecond } from './progress-meter.js'
import type { Schedule } from './schedule.js'

/** What a run has come to. `ended` says why before its planned end; `seconds` of training. */
export async function finishedEvent(
  { synchroniser }: Pick<Crew, 'synchroniser'>,
  { population: { schedule: population }, samples, checkpoints }: CourseOptions,
  { iterations: planned }: Schedule,
  { kept, ended, seconds }: { kept: EvaluatedEvent; ended: FinishedEvent['reason'] | undefined; seconds: number }
): Promise<FinishedEvent> {
  const { testLoss, testAccuracy, testPerplexity, iteration } = kept
  const { iterations, position, round } = await synchroniser.ask.status()
  return {
    event: 'finished',
    reason: ended ?? (iterations < planned ? 'stopped' : 'completed'),
    keptIteration: iteration,
    testAccuracy,
    testLoss,
    ...(testPerplexity !== undefined && { testPerplexity }),
    imagesPerSecond: perSecond(position, seconds),
    // A change at the round where the run ends was never made.
    learners: learnersAt(population, Math.max(0, round - 1)),
    population: population.filter((change) => change.round < Math.max(1, round)),
    epochs: position / samples,
    iterations,
    seconds,
    weightsSha256: sha256(await synchroniser.ask.central()),
    ...(checkpoints && { checkpoints: checkpoints.completeness })
  }
}

/** Of float32 values, little-endian. */
function sha256(weights: Float32Array | Float64Array): string {
  const bytes = new DataView(new ArrayBuffer(weights.length * 4))
  weights.forEach((weight, i) => bytes.setFloat32(4 * i, weight, true))
  return createHash('sha256').update(bytes).digest('hex')
}
