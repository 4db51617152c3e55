import type { StreamedSamples } from '../data/dataset.js'
import { sampleAt } from '../data/random.js'
import { ReaderPool } from '../data/reader-pool.js'
import { batchIn, bytesOfBatch, partOfBatch } from '../data/streamed-batch.js'
import { loadEngine, type BatchRequest, type Engine, type Handle } from '../engine/contract.js'
import { corruptFile } from '../formats/file-errors.js'
import { keyOf, type Words2 } from '../model/philox.js'
import { DeferredReply } from '../runtime/actor.js'
import { checkSetup } from './setup-checks.js'

/** A stream, and the samples that it is fed with. */
export interface SourceStream {
  readonly stream: Handle
  readonly samples: StreamedSamples
  /** For training: a random order in each epoch, and random numbers for each sample. Else in order, and the same every time. */
  readonly random: boolean
}

/** A sample that could not be made. The next one takes its place. */
export interface SkippedSample {
  readonly item: string
  readonly reason: string
}

/** The messages that a feeder answers. */
export interface FeederProtocol {
  /** The samples skipped since the last call, as soon as there is one. Rejects with the error that ended the feeding: DATA_CORRUPT, or INVALID_OPTION for a reader that cannot be used. */
  news(): DeferredReply<SkippedSample[]>
}

/** The options of a feeder. */
export interface FeederOptions {
  /** Address of the module that exports `engine`. */
  readonly engine: string
  readonly seed: number
  readonly threads: number
  /** What happens when a sample cannot be made. */
  readonly onBadSample: 'fail' | 'skip'
  /** Batches that a learner or evaluator waits for come first, then those of the first source. */
  readonly streams: readonly SourceStream[]
}

/** Samples of one task of a thread. */
const TASK_SAMPLES = 8
/** Tasks in the queue for each thread: enough to keep it busy, and few enough that an urgent batch is made soon. */
const TASKS_AHEAD = 2

interface Work {
  readonly source: SourceStream
  readonly request: BatchRequest
}

/**
 * Makes the batches of streams for learners and evaluators, with a pool of threads that decode the samples. It makes no more batches than
 * the streams have slots for. A batch depends on the seed and its position alone, so that a feeder that fails can be replaced by one that
 * makes the missing batches.
 */
export class Feeder implements FeederProtocol {
  readonly #options: FeederOptions
  readonly #key: Words2
  /** The samples that could not be made. */
  readonly #bad = new Map<StreamedSamples, Set<number>>()
  /** Memory of batches, for the next ones. */
  readonly #memory: SharedArrayBuffer[] = []
  #engine!: Engine
  #pool!: ReaderPool
  /** Samples in the threads' queues. */
  #queued = 0
  #stopped = false
  #skipped: SkippedSample[] = []
  #failure: { readonly error: unknown } | undefined
  #onNews: (() => void) | undefined

  constructor(options: FeederOptions) {
    checkSetup(options, 'engine', 'seed', 'threads', 'onBadSample', 'streams')
    this.#options = options
    this.#key = keyOf(options.seed)
    for (const { samples } of options.streams) this.#bad.set(samples, new Set())
  }

  /** Called by the runtime. */
  async started(): Promise<void> {
    const { engine, threads, streams } = this.#options
    this.#engine = await loadEngine(engine)
    this.#pool = await ReaderPool.start({ threads })
    for (const { stream } of streams) this.#engine.watchStream(stream, () => this.#makeBatches())
  }

  news(): DeferredReply<SkippedSample[]> {
    return new DeferredReply(this.#news())
  }

  async #news(): Promise<SkippedSample[]> {
    while (this.#skipped.length === 0) {
      if (this.#failure) throw this.#failure.error
      await new Promise<void>((resolve) => (this.#onNews = resolve))
    }
    return this.#skipped.splice(0)
  }

  /** Called by the runtime. */
  async stopping(): Promise<void> {
    this.#stopped = true
    await this.#pool?.close()
  }

  /** Starts batches while there are batches to make and threads to make them. */
  #makeBatches(): void {
    const most = this.#options.threads * TASKS_AHEAD * TASK_SAMPLES
    while (this.#queued < most && !this.#stopped && !this.#failure) {
      const work = this.#next()
      if (!work) return
      this.#queued += work.request.count
      void this.#make(work)
        .catch((error: unknown) => this.#fail(error))
        .finally(() => {
          this.#queued -= work.request.count
          this.#makeBatches()
        })
    }
  }

  #next(): Work | undefined {
    for (const which of ['waited', 'ahead'] as const) {
      for (const source of this.#options.streams) {
        const request = this.#engine.nextBatch(source.stream, which)
        if (request) return { source, request }
      }
    }
    return undefined
  }

  async #make({ source, request }: Work): Promise<void> {
    const { samples, stream } = source
    const numbers = this.#numbers(source, request)
    const memory = this.#borrow(bytesOfBatch(samples, request.count))
    try {
      const chunk = Math.min(TASK_SAMPLES, Math.ceil(request.count / this.#options.threads))
      const starts = Array.from({ length: Math.ceil(request.count / chunk) }, (_, i) => i * chunk)
      await Promise.all(
        starts.map((start) => this.#read(source, request.position, numbers, memory, start, Math.min(chunk, request.count - start)))
      )
      const batch = batchIn(memory, samples, numbers)
      this.#engine.feedBatch(stream, request.turn, batch.samples, batch.targets)
    } finally {
      this.#memory.push(memory)
    }
  }

  /** The numbers of a batch's samples. A sample that is known to be bad is replaced by the next good one. */
  #numbers({ samples, random }: SourceStream, { position, count, samples: chosen }: BatchRequest): number[] {
    const at = (i: number) => (random ? sampleAt(this.#key, position + i, samples.count) : (position + i) % samples.count)
    return Array.from({ length: count }, (_, i) => this.#good(samples, chosen?.[i] ?? at(i)))
  }

  #good(samples: StreamedSamples, number: number): number {
    const bad = this.#bad.get(samples)!
    if (bad.size === samples.count)
      throw corruptFile(samples.items[number]!, { expected: 'at least one readable sample', found: 'none', fix: 'replace the files' })
    let good = number
    while (bad.has(good)) good = (good + 1) % samples.count
    return good
  }

  /** Makes `count` samples of a batch from `start` on. Replaces the numbers of samples that turn out to be bad. */
  async #read(
    source: SourceStream,
    position: number,
    numbers: number[],
    memory: SharedArrayBuffer,
    start: number,
    count: number
  ): Promise<void> {
    const { samples, random } = source
    const places = Array.from({ length: count }, (_, i) => start + i)
    const bad = await this.#pool.read({
      reader: samples.reader,
      items: places.map((place) => samples.items[numbers[place]!]!),
      ...(random && !samples.still && { positions: places.map((place) => position + place), key: this.#key }),
      memory,
      ...partOfBatch(samples, numbers.length, start)
    })
    for (const { index, reason } of bad) {
      const place = start + index
      this.#skip(samples, numbers[place]!, reason)
      numbers[place] = this.#good(samples, numbers[place]!)
      await this.#read(source, position, numbers, memory, place, 1)
    }
  }

  #skip(samples: StreamedSamples, number: number, reason: string): void {
    const item = samples.items[number]!
    if (this.#options.onBadSample === 'fail')
      throw corruptFile(item, {
        expected: 'a sample',
        found: reason,
        fix: "replace or remove it, or skip such files with onBadImage: 'skip' (--on-bad-image skip), samples of your own with feed: { onBadSample: 'skip' }"
      })
    const bad = this.#bad.get(samples)!
    if (bad.has(number)) return
    bad.add(number)
    this.#skipped.push({ item, reason })
    this.#onNews?.()
  }

  #fail(error: unknown): void {
    // A pool that is closed while it works rejects; that is no failure.
    if (this.#stopped) return
    this.#failure ??= { error }
    this.#onNews?.()
  }

  /** Memory for one batch, which the pool's threads write and the engine copies. Reused: there is one for each batch under way. */
  #borrow(bytes: number): SharedArrayBuffer {
    const at = this.#memory.findIndex(({ byteLength }) => byteLength >= bytes)
    return at < 0 ? new SharedArrayBuffer(bytes) : this.#memory.splice(at, 1)[0]!
  }
}
