import type { StreamedSamples } from '../data/dataset.js'
import { sampleAt } from '../data/random.js'
import { ReaderPool } from '../data/reader-pool.js'
import { loadEngine, type BatchRequest, type Engine, type Handle } from '../engine/contract.js'
import { corruptFile } from '../formats/file-errors.js'
import { elements } from '../model/graph.js'
import { keyOf, type Words2 } from '../model/philox.js'
import { DeferredReply } from '../runtime/actor.js'

/** A stream that is to be fed, and with what. */
export interface Lane {
  readonly stream: Handle
  readonly samples: StreamedSamples
  /** For training: in a random order an epoch, each sample with random numbers of its own. Otherwise in order, and always the same. */
  readonly random: boolean
}

export interface FeederOptions {
  /** Address of the module that exports `engine`. */
  readonly engine: string
  readonly seed: number
  readonly threads: number
  /** What becomes of a sample that cannot be made. */
  readonly onBadSample: 'fail' | 'skip'
  /** Of two batches that nobody waits for yet, that of the first lane is made first. */
  readonly lanes: readonly Lane[]
}

/** A sample that could not be made; its place is taken by the next one. */
export interface SkippedSample {
  readonly item: string
  readonly reason: string
}

/** Samples of a task, and those that wait for each thread: enough to keep it busy, few enough for a batch that is waited for to come soon. */
const AT_ONCE = 8
const WAITING = 2

interface Work {
  readonly lane: Lane
  readonly request: BatchRequest
}

/**
 * Keeps batches ready for learners and evaluators where the data streams in. What is in a batch depends on the seed and its position alone:
 * a feeder that dies is replaced, and the next goes on where batches are missing. The decoding is done by a pool of threads; no more is
 * ever made than the streams have slots for.
 */
export class Feeder {
  readonly #options: FeederOptions
  readonly #key: Words2
  readonly #bad = new Map<StreamedSamples, Set<number>>()
  readonly #memory: SharedArrayBuffer[] = []
  #engine!: Engine
  #pool!: ReaderPool
  #waiting = 0
  #stopped = false
  #skipped: SkippedSample[] = []
  #failure: { readonly error: unknown } | undefined
  #tell: (() => void) | undefined

  constructor(options: FeederOptions) {
    this.#options = options
    this.#key = keyOf(options.seed)
    for (const { samples } of options.lanes) this.#bad.set(samples, new Set())
  }

  async started(): Promise<void> {
    const { engine, threads, lanes } = this.#options
    this.#engine = await loadEngine(engine)
    this.#pool = new ReaderPool({ threads })
    for (const { stream } of lanes) this.#engine.watchStream(stream, () => this.#work())
  }

  /** What has been skipped since it was asked last, as soon as there is something. Rejects with what ends the feeding: DATA_CORRUPT. */
  news(): DeferredReply<SkippedSample[]> {
    return new DeferredReply(this.#news())
  }

  async #news(): Promise<SkippedSample[]> {
    while (this.#skipped.length === 0) {
      if (this.#failure) throw this.#failure.error
      await new Promise<void>((resolve) => (this.#tell = resolve))
    }
    return this.#skipped.splice(0)
  }

  async stopping(): Promise<void> {
    this.#stopped = true
    await this.#pool?.close()
  }

  /** Begins batches as long as there are some to make and threads to make them. */
  #work(): void {
    const most = this.#options.threads * WAITING * AT_ONCE
    while (this.#waiting < most && !this.#stopped && !this.#failure) {
      const work = this.#next()
      if (!work) return
      this.#waiting += work.request.count
      void this.#make(work)
        .catch((error: unknown) => this.#fail(error))
        .finally(() => {
          this.#waiting -= work.request.count
          this.#work()
        })
    }
  }

  #next(): Work | undefined {
    for (const which of ['waited', 'ahead'] as const) {
      for (const lane of this.#options.lanes) {
        const request = this.#engine.nextBatch(lane.stream, which)
        if (request) return { lane, request }
      }
    }
    return undefined
  }

  async #make({ lane, request }: Work): Promise<void> {
    const { samples, stream } = lane
    const size = sizeOf(samples)
    const numbers = this.#numbers(lane, request)
    const memory = this.#borrow(request.count * size)
    try {
      const chunk = Math.min(AT_ONCE, Math.ceil(request.count / this.#options.threads))
      const starts = Array.from({ length: Math.ceil(request.count / chunk) }, (_, i) => i * chunk)
      await Promise.all(
        starts.map((start) => this.#read(lane, request.position, numbers, memory, start, Math.min(chunk, request.count - start)))
      )
      const labels = Int32Array.from(numbers, (number) => samples.labels[number]!)
      this.#engine.feedBatch(stream, request.turn, new Uint8Array(memory, 0, request.count * size), labels)
    } finally {
      this.#memory.push(memory)
    }
  }

  /** The samples of a batch; in the place of one that is known to be bad stands the next that is not. */
  #numbers({ samples, random }: Lane, { position, count, samples: chosen }: BatchRequest): number[] {
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

  /** Makes `count` samples of a batch from `start` on into their places. Those that were bad have other numbers afterwards. */
  async #read(lane: Lane, position: number, numbers: number[], memory: SharedArrayBuffer, start: number, count: number): Promise<void> {
    const { samples, random } = lane
    const size = sizeOf(samples)
    const places = Array.from({ length: count }, (_, i) => start + i)
    const bad = await this.#pool.read({
      reader: samples.reader,
      items: places.map((place) => samples.items[numbers[place]!]!),
      ...(random && !samples.still && { positions: places.map((place) => position + place), key: this.#key }),
      memory,
      offset: start * size,
      size
    })
    for (const { index, reason } of bad) {
      const place = start + index
      this.#skip(samples, numbers[place]!, reason)
      numbers[place] = this.#good(samples, numbers[place]!)
      await this.#read(lane, position, numbers, memory, place, 1)
    }
  }

  #skip(samples: StreamedSamples, number: number, reason: string): void {
    const item = samples.items[number]!
    if (this.#options.onBadSample === 'fail')
      throw corruptFile(item, {
        expected: 'a sample',
        found: reason,
        fix: "replace or remove it, or skip such files with onBadImage: 'skip'"
      })
    const bad = this.#bad.get(samples)!
    if (bad.has(number)) return
    bad.add(number)
    this.#skipped.push({ item, reason })
    this.#tell?.()
  }

  #fail(error: unknown): void {
    // A pool that was ended in the middle of its work is no failure.
    if (this.#stopped) return
    this.#failure ??= { error }
    this.#tell?.()
  }

  /** Memory for one batch, which the pool's threads write and the engine copies; as much of it as batches are made at once. */
  #borrow(bytes: number): SharedArrayBuffer {
    const at = this.#memory.findIndex(({ byteLength }) => byteLength >= bytes)
    return at < 0 ? new SharedArrayBuffer(bytes) : this.#memory.splice(at, 1)[0]!
  }
}

/** Bytes of one. */
function sizeOf({ sample }: StreamedSamples): number {
  return elements(sample)
}
