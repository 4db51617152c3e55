import { type Program, SEGMENTS } from '../compiler/program.js'
import { type Dataset, type StoredDataset, isStreamed, type StreamedSamples } from '../data/dataset.js'
import type { DatasetSpec } from '../engine/contract.js'
import { invalidOption } from '../errors.js'
import { elements } from '../model/graph.js'
import type { PlannedProgram } from '../observe/events.js'
import type { Programs } from '../trained/programs.js'

/** Steps that a dry run takes: the first finds out whether all of it works, the second whether it goes on working. */
export const DRY_STEPS = 2

/** Measurements that a run over a few batches has in so many iterations of one learner. */
const ITERATIONS_AN_EPOCH = 100

/** The programs with no more to measure than a dry run has time for. */
export function briefly({ evaluate, statistics, ...programs }: Programs): Programs {
  return {
    ...programs,
    evaluate: evaluate.slice(0, 1).map((pass) => ({ ...pass, steps: 1 })),
    statistics: statistics && { ...statistics, steps: 1 }
  }
}

/** Every program with what it does and the memory that it wants. */
export function plannedPrograms({ train, statistics, evaluate, predict }: Programs): PlannedProgram[] {
  return [train, ...(statistics ? [statistics.program] : []), ...evaluate.map(({ program }) => program), predict].map(planned)
}

function planned({ name, batch, segments, arenas }: Program): PlannedProgram {
  const operators = SEGMENTS.flatMap((segment) => segments[segment])
  return { name, batch, operators: operators.length, flops: operators.reduce((sum, { flops }) => sum + flops, 0), arenas }
}

interface Share {
  readonly batches: number
  readonly batch: number
}

/**
 * The first samples alone, to learn from as they are and to be measured on: a model that cannot learn these by heart learns nothing. They are
 * repeated until an epoch is long enough to be worth a measurement; windows of a text are not.
 */
export function fewSamples(dataset: StoredDataset, share: Share): StoredDataset
export function fewSamples(dataset: Dataset, share: Share): Dataset
export function fewSamples(dataset: Dataset, { batches, batch }: Share): Dataset {
  const wanted = batches * batch
  if (wanted > dataset.train.count)
    throw invalidOption(
      'overfit',
      batches,
      `${dataset.name} has ${dataset.train.count} samples: use at most ${Math.floor(dataset.train.count / batch)}`
    )
  const unchanged = { ...dataset, augmentation: { padding: 0, flip: false } }
  if (dataset.train.stride !== undefined) {
    const windows = firstWindows(dataset.train, wanted, dataset.train.stride)
    return { ...unchanged, train: windows, test: windows }
  }
  const repeats = Math.max(1, Math.ceil((ITERATIONS_AN_EPOCH * batch) / wanted))
  return { ...unchanged, train: repeated(dataset.train, wanted, repeats), test: repeated(dataset.train, wanted, 1) }
}

/** So many windows of a row of tokens, with not a token more: they have no room to move. */
function firstWindows(spec: DatasetSpec, count: number, stride: number): DatasetSpec {
  return { ...spec, count, samples: spec.samples.subarray(0, (count - 1) * stride + elements(spec.sample) + 1) }
}

function repeated(spec: DatasetSpec | StreamedSamples, count: number, times: number): DatasetSpec | StreamedSamples {
  if (isStreamed(spec)) return spread(spec, count, times)
  const { sample, samples, labels, target, targets } = spec
  return {
    ...spec,
    count: count * times,
    samples: tiled(samples, count * elements(sample), times),
    ...(labels && { labels: tiled(labels, count, times) }),
    ...(target && targets && { targets: tiled(targets, count * elements(target), times) })
  }
}

/** Those that stream often stand class by class: some of all of them are taken. */
function spread(spec: StreamedSamples, count: number, times: number): StreamedSamples {
  const chosen = Array.from({ length: count * times }, (_, i) => Math.floor(((i % count) * spec.count) / count))
  const items = chosen.map((i) => spec.items[i]!)
  return { ...spec, still: true, count: chosen.length, items, labels: Int32Array.from(chosen, (i) => spec.labels[i]!) }
}

function tiled<Data extends Uint8Array | Float32Array | Int32Array>(from: Data, length: number, times: number): Data {
  const all = new (from.constructor as new (length: number) => Data)(length * times)
  for (let i = 0; i < times; i++) all.set(from.subarray(0, length), i * length)
  return all
}
