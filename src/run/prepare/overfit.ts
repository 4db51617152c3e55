import { chosenOf } from '../../data/streamed-batch.js'
import { isStreamed, type Dataset, type StoredDataset, type StreamedSamples } from '../../data/dataset.js'
import type { DatasetSpec } from '../../engine/contract.js'
import { invalidOption, type ArbalestError } from '../../errors.js'
import { NO_AUGMENTATION } from '../../model/augmentation.js'
import { elements } from '../../model/graph.js'

/** The batches are repeated until an epoch takes one learner about this many iterations, so that measurements do not take most of the time. */
const ITERATIONS_AN_EPOCH = 100

interface OverfitSize {
  readonly batches: number
  /** Samples in a batch. */
  readonly batch: number
}

/**
 * The first batches of a data set, without augmentation, both as training and as test samples: a model that cannot overfit these has a fault. They are
 * repeated to make an epoch longer, except for windows of a text. Throws INVALID_OPTION.
 */
export function firstBatches(dataset: StoredDataset, size: OverfitSize): StoredDataset
export function firstBatches(dataset: Dataset, size: OverfitSize): Dataset
export function firstBatches(dataset: Dataset, { batches, batch }: OverfitSize): Dataset {
  const wanted = batches * batch
  if (wanted > dataset.train.count) throw beyondSamples(dataset, { batches, batch })
  const unchanged = { ...dataset, augmentation: NO_AUGMENTATION }
  if (dataset.train.stride !== undefined) {
    const windows = firstWindows(dataset.train, wanted, dataset.train.stride)
    return { ...unchanged, train: windows, test: windows }
  }
  const repeats = Math.max(1, Math.ceil((ITERATIONS_AN_EPOCH * batch) / wanted))
  return { ...unchanged, train: repeated(dataset.train, wanted, repeats), test: repeated(dataset.train, wanted, 1) }
}

function beyondSamples({ name, train: { count } }: Dataset, { batches, batch }: OverfitSize): ArbalestError {
  if (count < batch)
    return invalidOption('batch', batch, `${name} has ${count} samples, and overfit takes whole batches: use at most ${count}`)
  return invalidOption('overfit', batches, `${name} has ${count} samples: use at most ${Math.floor(count / batch)}`)
}

/** The first `count` windows of a text, and not a token more: without spare tokens the windows cannot be shifted at random. */
function firstWindows(spec: DatasetSpec, count: number, stride: number): DatasetSpec {
  return { ...spec, count, samples: spec.samples.subarray(0, (count - 1) * stride + elements(spec.sample) + 1) }
}

function repeated(spec: DatasetSpec | StreamedSamples, count: number, times: number): DatasetSpec | StreamedSamples {
  if (isStreamed(spec)) return spread(spec, count, times)
  const { sample, samples, labels, label, target, targets } = spec
  return {
    ...spec,
    count: count * times,
    samples: tiled(samples, count * elements(sample), times),
    ...(labels && { labels: tiled(labels, count * elements(label ?? []), times) }),
    ...(target && targets && { targets: tiled(targets, count * elements(target), times) })
  }
}

/** Streamed samples are often sorted by class: takes samples from the whole range. */
function spread(spec: StreamedSamples, count: number, times: number): StreamedSamples {
  const chosen = Array.from({ length: count * times }, (_, i) => Math.floor(((i % count) * spec.count) / count))
  return { ...chosenOf(spec, chosen), still: true }
}

function tiled<Data extends Uint8Array | Float32Array | Int32Array>(from: Data, length: number, times: number): Data {
  const all = new (from.constructor as new (length: number) => Data)(length * times)
  for (let i = 0; i < times; i++) all.set(from.subarray(0, length), i * length)
  return all
}
