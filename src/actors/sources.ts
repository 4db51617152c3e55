import type { SourceStream } from './feeder.js'
import type { JobScope } from './job-scope.js'
import { isStreamed, type Dataset, type StreamedSamples } from '../data/dataset.js'
import type { DatasetSpec, Handle, StreamSpec } from '../engine/contract.js'
import { elements } from '../model/graph.js'

/** Batches that are made ahead for each learner, by default. */
const PREFETCH = 4
/** Batches kept for each evaluator if its test samples do not fit into the cache. */
const UNCACHED_BATCHES = 4
/** The share of free memory in which test samples are cached, by default. */
const CACHE_SHARE = 1 / 8

/** Whole batches of a data set. */
export interface BatchRange {
  /** Samples of a batch. */
  readonly batch: number
  /** How many batches. */
  readonly steps: number
  /** Of the first sample in the sequence of samples, from 0. */
  readonly position: number
}

export interface SourceNeeds {
  readonly batch: number
  readonly learners: number
  /** Training samples from which batch-norm statistics are estimated. */
  readonly statistics: BatchRange | undefined
  /** The test samples of each evaluator. */
  readonly shares: readonly (readonly BatchRange[])[]
}

/**
 * The streams of a job; undefined for samples that lie in memory. In memory no batch exists before the operator `load` gathers it; of streamed samples
 * the feeder makes batches ahead, and `load` copies them.
 */
export interface SourcePlan {
  readonly train: StreamSpec | undefined
  readonly statistics: StreamSpec | undefined
  /** One for each evaluator. */
  readonly tests: readonly StreamSpec[] | undefined
  /** Engine memory that samples take at most. */
  readonly bytes: number
}

/** Data sets and streams in the engine, to which programs are bound. */
export interface Sources extends TestSources {
  readonly train: Handle
  readonly statistics: Handle
}

export interface TestSources {
  /** One for each evaluator. */
  readonly tests: readonly Handle[]
  /** The streams that a feeder has to fill. */
  readonly streams: readonly SourceStream[]
}

/**
 * Training samples stream through a few batches per learner. Statistics and tests read the same samples every time; making samples is expensive, so
 * these are kept where they fit into memory, and else stream, too.
 */
export function planSources(dataset: Dataset, needs: SourceNeeds, freeMemory: number): SourcePlan {
  const { train, test, feed: { prefetch = PREFETCH } = {} } = dataset
  const plan = {
    train: isStreamed(train) ? { ...shapeOf(train), batch: needs.batch, slots: needs.learners * prefetch + 1 } : undefined,
    statistics: isStreamed(train) && needs.statistics ? cachedStream(train, [needs.statistics]) : undefined,
    tests: planTestSources(dataset, needs.shares, freeMemory)
  }
  const specs = [plan.train, plan.statistics, ...(plan.tests ?? [])].filter((spec) => spec !== undefined)
  const stored = [train, test].reduce((sum, samples) => sum + (isStreamed(samples) ? 0 : datasetBytes(samples)), 0)
  return { ...plan, bytes: specs.reduce((sum, spec) => sum + streamBytes(spec), stored) }
}

/** The streams that evaluators alone need. */
export function planTestSources({ test, feed }: Dataset, shares: SourceNeeds['shares'], freeMemory: number): SourcePlan['tests'] {
  if (!isStreamed(test)) return undefined
  const cached = shares.map((share) => cachedStream(test, share))
  const fits = cached.reduce((sum, spec) => sum + streamBytes(spec), 0) <= (feed?.cache ?? freeMemory * CACHE_SHARE)
  return fits ? cached : cached.map((spec) => ({ ...spec, slots: Math.min(spec.slots, UNCACHED_BATCHES) }))
}

/** Puts the samples of a job into the engine, or makes the streams through which they will come. */
export function makeSources(dataset: Dataset, plan: SourcePlan, evaluators: number, scope: JobScope): Sources {
  const train = makeSource(dataset.train, plan.train, true, scope)
  // Samples for statistics are the same every time: a second stream, which keeps them, makes them only once.
  const statistics = plan.statistics && makeSource(dataset.train, plan.statistics, true, scope)
  const { tests, streams } = makeTestSources(dataset, plan.tests, evaluators, scope)
  return {
    train: train.handle,
    statistics: (statistics ?? train).handle,
    tests,
    streams: [...train.streams, ...(statistics?.streams ?? []), ...streams]
  }
}

/** The sources that evaluators alone need. */
export function makeTestSources({ test }: Dataset, specs: SourcePlan['tests'], evaluators: number, scope: JobScope): TestSources {
  const sources = specs
    ? specs.map((spec) => makeSource(test, spec, false, scope))
    : Array<Source>(evaluators).fill(makeSource(test, undefined, false, scope))
  return { tests: sources.map(({ handle }) => handle), streams: sources.flatMap(({ streams }) => streams) }
}

interface Source {
  readonly handle: Handle
  /** The stream, if it is one. */
  readonly streams: readonly SourceStream[]
}

function makeSource(
  samples: DatasetSpec | StreamedSamples,
  spec: StreamSpec | undefined,
  random: boolean,
  { engine, handles }: JobScope
): Source {
  if (!isStreamed(samples)) return { handle: handles.own(engine.createDataset(samples)), streams: [] }
  const stream = handles.own(engine.createStream(spec!))
  return { handle: stream, streams: [{ stream, samples, random }] }
}

/** A stream with a slot for every batch of the ranges, so that it keeps them all. */
function cachedStream(samples: StreamedSamples, ranges: readonly BatchRange[]): StreamSpec {
  const batch = Math.max(...ranges.map((range) => range.batch))
  const from = Math.min(...ranges.map((range) => range.position))
  const until = Math.max(...ranges.map((range) => range.position + range.steps * range.batch))
  return { ...shapeOf(samples), batch, slots: Math.ceil((until - from) / batch), range: [from, until] }
}

function shapeOf({ count, sample, classes, label, target }: StreamedSamples): Omit<StreamSpec, 'batch' | 'slots' | 'range'> {
  return { count, sample, ...(target ? { target } : { classes: classes!, ...(label && { label }) }) }
}

function streamBytes({ batch, slots, sample, label, target }: StreamSpec): number {
  return slots * batch * (elements(sample) + Int32Array.BYTES_PER_ELEMENT * elements(target ?? label ?? []))
}

function datasetBytes({ samples, labels, targets }: DatasetSpec): number {
  return samples.byteLength + (labels?.byteLength ?? 0) + (targets?.byteLength ?? 0)
}
