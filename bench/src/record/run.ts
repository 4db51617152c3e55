import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { train, type StoredDataset, type TrainOptions } from '../arbalest.js'
import { accuracyByCopies, type Copy } from './copies.js'
import { writeFirstWeights } from './first-weights.js'
import { recordModel, recordOptions, type Recipe } from './recipe.js'

/** What a run has found, ours or a peer's. */
export interface RunResult {
  /** Of making the first weights, training, and measuring the trained model; without set-up. */
  readonly seconds: number
  /** From the call to the end of training, with all set-up. */
  readonly wallSeconds: number
  /** Of the test images, each by its six copies. */
  readonly accuracy: number
  /** Of the test images as they are. */
  readonly plainAccuracy: number
}

export interface OwnRunResult extends RunResult {
  /** The parts of `seconds`. */
  readonly firstWeightsSeconds: number
  readonly trainingSeconds: number
  readonly measuringSeconds: number
  readonly imagesPerSecond: number
  readonly iterations: number
}

export interface OwnRun {
  readonly recipe: Recipe
  readonly seed: number
  readonly backend: 'cpu' | 'cuda'
  readonly precision: 'f32' | 'bf16'
  /** The steps of each learner, to try the bench out; the whole recipe if omitted. */
  readonly steps?: number
}

/** Trains the recipe once, and measures what it has trained. `watch` gets the job's events. */
export async function runRecipe(
  { recipe, seed, backend, precision, steps }: OwnRun,
  data: StoredDataset,
  { copies, options = {} }: { readonly copies?: readonly Copy[]; readonly options?: Partial<TrainOptions> } = {}
): Promise<OwnRunResult> {
  const folder = await mkdtemp(join(tmpdir(), 'arbalest-record-'))
  try {
    const initialWeights = join(folder, 'first.safetensors')
    const before = performance.now()
    await writeFirstWeights(initialWeights, recordModel(recipe), data, seed)
    const begun = performance.now()
    const firstWeightsSeconds = (begun - before) / 1000
    const job = train({
      ...recordOptions(recipe, { data, seed, initialWeights }),
      backend,
      precision,
      ...(steps !== undefined && { until: { steps } }),
      ...options
    })
    const finished = await job.finished
    const wallSeconds = (performance.now() - begun) / 1000
    const { count, samples, sample, labels } = data.test
    const test = {
      images: (samples as Uint8Array).subarray(0, count * sample.reduce((a, b) => a * b, 1)),
      shape: sample as [number, number, number],
      labels: labels!
    }
    const trained = performance.now()
    const accuracy = await accuracyByCopies((images) => job.model.predict(images), test, copies)
    const measuringSeconds = (performance.now() - trained) / 1000
    return {
      seconds: firstWeightsSeconds + finished.seconds + measuringSeconds,
      wallSeconds,
      accuracy,
      plainAccuracy: finished.testAccuracy!,
      firstWeightsSeconds,
      trainingSeconds: finished.seconds,
      measuringSeconds,
      imagesPerSecond: finished.imagesPerSecond,
      iterations: finished.iterations
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}
