/** Kinds of work of a learner; the ring stores the index of the kind. */
const SPAN_KINDS = ['run', 'load', 'forward', 'backward', 'exchange', 'update', 'step'] as const
export type SpanKind = (typeof SPAN_KINDS)[number]

/** One stretch of a learner's work. */
export interface TraceSpan {
  readonly kind: SpanKind
  /** Milliseconds of the monotonic clock, which is the same in all threads. */
  readonly start: number
  readonly end: number
  readonly steps: number
  /** Seconds of it spent waiting for the group. */
  readonly waitSeconds: number
  /** Seconds of it spent waiting for samples. */
  readonly dataSeconds: number
}

const FIELDS = 6
const CAPACITY = 8192
/** Of the number of spans that have been written: a learner that runs its segments one by one writes more in a day than 32 bits count. */
const HEADER_BYTES = 8

/** Milliseconds of the monotonic clock, the same in every thread. */
export function sharedClock(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/**
 * The latest spans of one learner, in shared memory: the learner's thread writes, the job's thread reads, and neither waits. The job can read them
 * after the learner has died.
 */
export class TraceRing {
  readonly memory: SharedArrayBuffer
  /** How many of the next steps are recorded segment by segment. */
  detail: number
  readonly #count: BigInt64Array
  readonly #spans: Float64Array
  #read = 0

  constructor({
    memory = new SharedArrayBuffer(HEADER_BYTES + 8 * FIELDS * CAPACITY),
    detail
  }: {
    memory?: SharedArrayBuffer
    detail: number
  }) {
    this.memory = memory
    this.detail = detail
    this.#count = new BigInt64Array(memory, 0, 1)
    this.#spans = new Float64Array(memory, HEADER_BYTES)
  }

  write({ kind, start, end, steps, waitSeconds, dataSeconds }: TraceSpan): void {
    this.#spans.set([SPAN_KINDS.indexOf(kind), start, end, steps, waitSeconds, dataSeconds], FIELDS * (this.#written % CAPACITY))
    Atomics.add(this.#count, 0, 1n)
  }

  /** The spans written since the last call, without those that were overwritten: `lost` counts these. */
  read(): { readonly spans: readonly TraceSpan[]; readonly lost: number } {
    const until = this.#written
    const from = Math.max(this.#read, until - CAPACITY)
    const spans = Array.from({ length: until - from }, (_, i) => this.#span(from + i))
    // The writer may have overwritten some of these during the read: they may be half old, half new.
    const torn = Math.max(0, Math.min(spans.length, this.#written + 1 - CAPACITY - from))
    const lost = from - this.#read + torn
    this.#read = until
    return { spans: spans.slice(torn), lost }
  }

  get #written(): number {
    return Number(Atomics.load(this.#count, 0))
  }

  #span(index: number): TraceSpan {
    const at = FIELDS * (index % CAPACITY)
    const [kind, start, end, steps, waitSeconds, dataSeconds] = this.#spans.subarray(at, at + FIELDS) as unknown as [
      number,
      number,
      number,
      number,
      number,
      number
    ]
    return { kind: SPAN_KINDS[kind]!, start, end, steps, waitSeconds, dataSeconds }
  }
}
