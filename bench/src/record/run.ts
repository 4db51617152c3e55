import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { train, type StoredDataset, type TrainOptions } from '../arbalest.js'
import { accuracyByCopies, type Copy } from './copies.js'
import { writeInitialWeights } from './initial-weights.js'
import { recordModel, recordOptions, type Recipe } from './recipe.js'

/** What a run has found, ours or a peer's. */
export interface RunResult {
  /** Of making the initial weights, training, and measuring the trained model; without set-up. */
  readonly seconds: number
  /** Of the same with all set-up: from the call to the end of the measurement. */
  readonly wallSeconds: number
  /** Of the test images, each by its six copies. */
  readonly accuracy: number
  /** Of the test images as they are. */
  readonly plainAccuracy: number
}

export interface OwnRunResult extends RunResult {
  /** The parts of `seconds`. */
  readonly initialWeightsSeconds: number
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

/** Trains the recipe once, and measures what it has trained. `copies`: by which accuracy is measured; `options`: in the place of the recipe's. */
export async function runRecipe(
  { recipe, seed, backend, precision, steps }: OwnRun,
  data: StoredDataset,
  { copies, options = {} }: { readonly copies?: readonly Copy[]; readonly options?: Partial<TrainOptions> } = {}
): Promise<OwnRunResult> {
  const folder = await mkdtemp(join(tmpdir(), 'arbalest-record-'))
  try {
    const initialWeights = join(folder, 'first.safetensors')
    const before = performance.now()
    await writeInitialWeights(initialWeights, recordModel(recipe), data, seed)
    const initialWeightsSeconds = (performance.now() - before) / 1000
    const job = train({
      ...recordOptions(recipe, { data, seed, initialWeights }),
      backend,
      precision,
      ...(steps !== undefined && { until: { steps } }),
      ...options
    })
    const finished = await job.finished
    const { count, samples, sample, labels } = data.test
    const test = {
      images: (samples as Uint8Array).subarray(0, count * sample.reduce((a, b) => a * b, 1)),
      shape: sample as [number, number, number],
      labels: labels!
    }
    const trained = performance.now()
    const accuracy = await accuracyByCopies((images) => job.model.predict(images), test, copies)
    const measured = performance.now()
    const measuringSeconds = (measured - trained) / 1000
    return {
      seconds: initialWeightsSeconds + finished.seconds + measuringSeconds,
      wallSeconds: (measured - before) / 1000,
      accuracy,
      plainAccuracy: finished.testAccuracy!,
      initialWeightsSeconds,
      trainingSeconds: finished.seconds,
      measuringSeconds,
      imagesPerSecond: finished.imagesPerSecond,
      iterations: finished.iterations
    }
  } finally {
    await rm(folder, { recursive: true })
  }
}
