import type { Pass } from './evaluator.js'
import type { Lane } from './feeder.js'
import { type Dataset, isStreamed, type StreamedSamples } from '../data/dataset.js'
import type { DatasetSpec, Engine, Handle, StreamSpec } from '../engine/contract.js'
import { elements } from '../model/graph.js'
import type { HandleScope } from '../engine/handle-scope.js'

/** Batches made ahead of each learner, where nobody says. */
const PREFETCH = 4
/** Batches kept for each evaluator whose samples are too many to be kept. */
const FEW = 4
/** The share of free memory in which samples to be measured on are kept, where nobody says. */
const CACHE = 1 / 8

type Range = Omit<Pass, 'program'>

export interface SourceNeeds {
  readonly batch: number
  readonly learners: number
  /** Training samples that batch-norm statistics are estimated on. */
  readonly statistics: Range | undefined
  /** Each evaluator's share of the test samples. */
  readonly shares: readonly (readonly Range[])[]
}

/** Where the samples of a run come from, before anything is made: no stream where they lie in memory. */
export interface SourcePlan {
  readonly train: StreamSpec | undefined
  readonly statistics: StreamSpec | undefined
  /** One for each evaluator. */
  readonly tests: readonly StreamSpec[] | undefined
  /** That samples take in engine memory at most. */
  readonly bytes: number
}

/** What a run's programs are bound to. */
export interface Sources {
  readonly train: Handle
  readonly statistics: Handle
  /** One for each evaluator. */
  readonly tests: readonly Handle[]
  /** What a feeder has to do, if anything. */
  readonly lanes: readonly Lane[]
}

/**
 * Samples to learn from stream through a few batches a learner. Those of statistics and those to be measured on are the same every time: they
 * are kept once they are made where they fit, for making them is what costs; else they stream too.
 */
export function planSources(dataset: Dataset, needs: SourceNeeds, freeMemory: number): SourcePlan {
  const { train, test, feed: { prefetch = PREFETCH } = {} } = dataset
  const plan = {
    train: isStreamed(train) ? { ...shapeOf(train), batch: needs.batch, slots: needs.learners * prefetch + 1 } : undefined,
    statistics: isStreamed(train) && needs.statistics ? wholeRange(train, [needs.statistics]) : undefined,
    tests: planTests(dataset, needs.shares, freeMemory)
  }
  const specs = [plan.train, plan.statistics, ...(plan.tests ?? [])].filter((spec) => spec !== undefined)
  const stored = [train, test].reduce((sum, samples) => sum + (isStreamed(samples) ? 0 : datasetBytes(samples)), 0)
  return { ...plan, bytes: specs.reduce((sum, spec) => sum + streamBytes(spec), stored) }
}

/** The part of a plan that measuring needs. */
export function planTests({ test, feed }: Dataset, shares: SourceNeeds['shares'], freeMemory: number): SourcePlan['tests'] {
  if (!isStreamed(test)) return undefined
  const whole = shares.map((share) => wholeRange(test, share))
  const fits = whole.reduce((sum, spec) => sum + streamBytes(spec), 0) <= (feed?.cache ?? freeMemory * CACHE)
  return fits ? whole : whole.map((spec) => ({ ...spec, slots: Math.min(spec.slots, FEW) }))
}

/** Puts samples into the engine, or makes the streams through which they will come. */
export class SourceMaker {
  readonly lanes: Lane[] = []
  readonly #dataset: Dataset
  readonly #engine: Engine
  readonly #handles: HandleScope

  constructor(dataset: Dataset, engine: Engine, handles: HandleScope) {
    this.#dataset = dataset
    this.#engine = engine
    this.#handles = handles
  }

  all(plan: SourcePlan, evaluators: number): Sources {
    const { train: samples } = this.#dataset
    const train = this.#source(samples, plan.train)
    // The same samples as are learnt from, but in a stream of their own that keeps them.
    const statistics = plan.statistics ? this.#source(samples, plan.statistics) : train
    return { train, statistics, tests: this.tests(plan.tests, evaluators), lanes: this.lanes }
  }

  tests(specs: SourcePlan['tests'], evaluators: number): readonly Handle[] {
    const { test } = this.#dataset
    return specs ? specs.map((spec) => this.#source(test, spec)) : Array<Handle>(evaluators).fill(this.#source(test, undefined))
  }

  #source(samples: DatasetSpec | StreamedSamples, spec: StreamSpec | undefined): Handle {
    if (!isStreamed(samples)) return this.#handles.own(this.#engine.createDataset(samples))
    const stream = this.#handles.own(this.#engine.createStream(spec!))
    this.lanes.push({ stream, samples, random: samples === this.#dataset.train })
    return stream
  }
}

/** With a slot for every batch of the passes. */
function wholeRange(samples: StreamedSamples, passes: readonly Range[]): StreamSpec {
  const batch = Math.max(...passes.map((pass) => pass.batch))
  const from = Math.min(...passes.map((pass) => pass.position))
  const until = Math.max(...passes.map((pass) => pass.position + pass.steps * pass.batch))
  return { ...shapeOf(samples), batch, slots: Math.ceil((until - from) / batch), range: [from, until] }
}

function shapeOf({ count, sample, classes }: StreamedSamples): Pick<StreamSpec, 'count' | 'sample' | 'classes'> {
  return { count, sample, classes }
}

function streamBytes({ batch, slots, sample }: StreamSpec): number {
  const label = 4
  return slots * batch * (elements(sample) + label)
}

function datasetBytes({ samples, labels, targets }: DatasetSpec): number {
  return samples.byteLength + (labels?.byteLength ?? 0) + (targets?.byteLength ?? 0)
}
