import type { Case } from './cases.js'
import { trainingProgram } from './flops-per-image.js'
import { engine, runSpeeds } from './internals.js'
import { runLearners } from './profile.js'

/**
 * What learners reach on a machine with more cores than this one, by a cost model: it is told, never measured. A round of SMA has two parts. In the first, k
 * learners compute a step each on C cores that share the memory's bandwidth (the roofline of Williams et al., 2009). In the second, they average: each reads and
 * writes its weights, and all read and write the central model, at the rate of as many cores as there are learners or at that of the memory.
 */
export interface ManyCores {
  readonly cores: number
  /** Bytes per second that all cores together read and write. */
  readonly memoryBytesPerSecond: number
}

/** What one learner's step takes on a core by itself, and what it must move. */
export interface MeasuredStep {
  readonly seconds: number
  /** Bytes that come from memory, because they do not fit into the caches of a core. */
  readonly memoryBytes: number
  /** Bytes of the weights. */
  readonly weightBytes: number
  /** Bytes per second of one core. */
  readonly coreBytesPerSecond: number
}

/** Seconds of a round of `learners` learners, of which each takes one step. */
export function roundSeconds(learners: number, step: MeasuredStep, host: ManyCores): number {
  const busy = Math.min(learners, host.cores)
  const computing = Math.max((learners / busy) * step.seconds, (learners * step.memoryBytes) / host.memoryBytesPerSecond)
  const averaged = (2 * learners + 2) * step.weightBytes
  const rate = Math.min(busy * step.coreBytesPerSecond, host.memoryBytesPerSecond)
  return computing + averaged / rate
}

/** Runs one learner of a case alone for some seconds. */
export async function measureStep(one: Case, seconds: number): Promise<MeasuredStep> {
  const { bytesPerSecond, cacheBytesPerSecond, cacheBytes } = runSpeeds(engine, { backend: 'cpu', threads: 1 })
  const [report] = await runLearners({ ...one, learners: 1 }, seconds)
  if (report === undefined) throw new Error('a learner has told nothing')
  const { bytes: weightBytes } = trainingProgram(one.model, one.batch, one.precision).parameters
  return {
    seconds: report.busySeconds / report.steps,
    memoryBytes: report.operators.filter(({ bytes }) => bytes > cacheBytes).reduce((sum, { bytes }) => sum + bytes, 0),
    weightBytes,
    coreBytesPerSecond: weightBytes > cacheBytes ? bytesPerSecond : cacheBytesPerSecond
  }
}
