/** What a learner did in one span of time, by its number in the ring. */
export const SPAN_KINDS = ['run', 'load', 'forward', 'backward', 'exchange', 'update', 'step'] as const
export type SpanKind = (typeof SPAN_KINDS)[number]

export interface Span {
  readonly kind: SpanKind
  /** Milliseconds of the clock that all threads of the machine share. */
  readonly start: number
  readonly end: number
  readonly steps: number
  /** Of it waiting for the group, in seconds. */
  readonly waitSeconds: number
  /** Of it waiting for samples, in seconds. */
  readonly dataSeconds: number
}

const FIELDS = 6
const CAPACITY = 8192
const WRITTEN = 0
const HEADER_BYTES = 8

/** Milliseconds of the monotonic clock, the same in every thread. */
export function sharedClock(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Spans of one learner in memory that its job reads meanwhile, also where the learner is no more: one writes, one reads, nobody waits. */
export class TraceRing {
  readonly memory: SharedArrayBuffer
  /** Steps that are still to be told in their segments. */
  detail: number
  readonly #written: Int32Array
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
    this.#written = new Int32Array(memory, 0, 1)
    this.#spans = new Float64Array(memory, HEADER_BYTES)
  }

  write({ kind, start, end, steps, waitSeconds, dataSeconds }: Span): void {
    const written = Atomics.load(this.#written, WRITTEN)
    this.#spans.set([SPAN_KINDS.indexOf(kind), start, end, steps, waitSeconds, dataSeconds], FIELDS * (written % CAPACITY))
    Atomics.store(this.#written, WRITTEN, written + 1)
  }

  /** All since it was read last, and how many were overwritten before. */
  read(): { readonly spans: readonly Span[]; readonly lost: number } {
    const written = () => Atomics.load(this.#written, WRITTEN)
    const until = written()
    const from = Math.max(this.#read, until - CAPACITY)
    const spans = Array.from({ length: until - from }, (_, i) => this.#span(from + i))
    // Those that the writer came upon meanwhile may be half old and half new.
    const torn = Math.max(0, Math.min(spans.length, written() + 1 - CAPACITY - from))
    const lost = from - this.#read + torn
    this.#read = until
    return { spans: spans.slice(torn), lost }
  }

  #span(index: number): Span {
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
