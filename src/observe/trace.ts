import type { GroupStatus } from '../engine/contract.js'
import type { JobEvent, RecordedEvent } from './events.js'
import type { EventSink } from './sinks.js'
import { TraceFile } from './trace-file.js'
import { sharedClock, TraceRing, type TraceSpan } from './trace-ring.js'

export interface TraceSettings {
  readonly file: string
  /** How many first steps of each learner are shown segment by segment. */
  readonly steps: number
}

/** The group of learners as a trace sees it. */
export interface TracedGroup {
  readonly status: () => Promise<GroupStatus>
  /** Names of the levels, from the bottom. */
  readonly levels: readonly string[]
  /** What the levels have done since the last call, as `Engine.averagingSpans` returns it. */
  readonly averagingSpans: () => Float64Array
  /** The run's turns on a device that it shares since the last call, as `Engine.leaseSpans` returns them. */
  readonly turns?: () => Float64Array
}

/** Milliseconds between two reads of the learners' rings: each ring holds 8192 spans. */
const READ_EVERY = 100

const SUPERVISOR = 'supervisor'
const SYNCHRONISER = 'synchroniser'
const EVALUATION = 'evaluation'
const AVERAGING = 'averaging'
const DEVICE = 'device'

/** Records the work of a run's actors to a file while they run. */
export class Trace implements EventSink {
  readonly #file: TraceFile
  readonly #steps: number
  readonly #rings = new Map<number, TraceRing>()
  #timer: NodeJS.Timeout | undefined
  #group: TracedGroup | undefined
  #lastSeen: { readonly time: number; readonly round: number; readonly position: number } | undefined

  /** Throws WRITE_FAILED. */
  constructor({ file, steps }: TraceSettings, title: string) {
    this.#file = new TraceFile(file, title)
    this.#steps = steps
  }

  /** The ring for a learner that is about to start. */
  learner(learner: number): { readonly memory: SharedArrayBuffer; readonly detail: number } {
    const ring = new TraceRing({ detail: this.#steps })
    this.#rings.set(learner, ring)
    return { memory: ring.memory, detail: this.#steps }
  }

  /** Reads the learners' rings and the group's status regularly from now on. */
  watch(group: TracedGroup): void {
    this.#group = group
    // The engine records the levels' work from the first call on.
    group.averagingSpans()
    group.turns?.()
    const look = () => {
      void group
        .status()
        .then((now) => this.#look(now))
        .catch(() => {})
    }
    // At once, so that the trace has the first rounds, too.
    look()
    this.#timer = setInterval(look, READ_EVERY)
  }

  /** Must be called before the group is released. */
  unwatch(): void {
    clearInterval(this.#timer)
    const group = this.#group
    // Before the read, which may throw: the group must not be read again after that.
    this.#group = undefined
    if (group) this.#drainLevels(group)
  }

  /** Records `work` as a span of the evaluators or of the supervisor. */
  async during<T>(what: 'evaluation' | 'change of the population', work: () => Promise<T>): Promise<T> {
    const start = sharedClock()
    try {
      return await work()
    } finally {
      this.#file.span(what === 'evaluation' ? EVALUATION : SUPERVISOR, what, { start, end: sharedClock() })
    }
  }

  write(event: RecordedEvent): void {
    switch (event.event) {
      case 'population':
        this.#instant(SUPERVISOR, `population: ${event.action}`, event)
        break
      case 'learnerLost':
        this.#instant(SUPERVISOR, 'learner lost', event)
        break
      case 'hostLost':
        this.#instant(SUPERVISOR, 'host lost', event)
        break
      case 'evaluated':
        this.#instant(EVALUATION, 'evaluated', event)
        break
      default:
      // The spans of the actors show all else.
    }
  }

  close(): void {
    this.unwatch()
    this.#drain()
    this.#file.close()
  }

  #instant(row: string, name: string, { event: _, ...args }: JobEvent): void {
    this.#file.instant(row, name, args)
  }

  #look({ round, position, members }: GroupStatus): void {
    const time = sharedClock()
    const before = this.#lastSeen
    this.#lastSeen = { time, round, position }
    if (before && round > before.round) {
      const samplesPerSecond = (1000 * (position - before.position)) / (time - before.time)
      const args = { rounds: round - before.round, samplesPerSecond }
      this.#file.span(SYNCHRONISER, `rounds ${before.round} to ${round - 1}`, { start: before.time, end: time, args })
      this.#file.counter('samples per second', { samplesPerSecond })
      this.#file.counter('learners', { learners: members.length })
    }
    this.#drain()
    this.#file.flush()
  }

  #drainLevels({ levels, averagingSpans, turns }: TracedGroup): void {
    const spans = averagingSpans()
    for (let i = 0; i < spans.length; i += 4) {
      const [level, round, start, end] = spans.subarray(i, i + 4) as unknown as [number, number, number, number]
      const row = level < 0 ? AVERAGING : `level ${levels[level]}`
      this.#file.span(row, `round ${round}`, { start: 1000 * start, end: 1000 * end })
    }
    const taken = turns?.() ?? []
    for (let i = 0; i < taken.length; i += 2) this.#file.span(DEVICE, 'turn', { start: 1000 * taken[i]!, end: 1000 * taken[i + 1]! })
  }

  #drain(): void {
    if (this.#group) this.#drainLevels(this.#group)
    for (const [learner, ring] of this.#rings) {
      const { spans, lost } = ring.read()
      const row = `learner ${learner}`
      for (const span of spans) this.#learnerSpan(row, span)
      if (lost > 0) this.#file.instant(row, 'spans lost', { lost })
    }
  }

  #learnerSpan(row: string, { kind, start, end, steps, waitSeconds, dataSeconds }: TraceSpan): void {
    const waiting = Math.min(1000 * waitSeconds, end - start)
    const forData = Math.min(1000 * dataSeconds, end - start - waiting)
    const args = kind === 'run' ? { steps, waitingMilliseconds: waiting, waitingForDataMilliseconds: forData } : {}
    this.#file.span(row, kind === 'run' ? `${steps} ${steps === 1 ? 'step' : 'steps'}` : kind, { start, end, args })
    // A call of many steps reports the sum of its waits, not their moments: the sums are drawn at its end.
    if (forData > 0) this.#file.span(row, 'waiting for data', { start: end - waiting - forData, end: end - waiting })
    if (waiting > 0) this.#file.span(row, 'waiting', { start: end - waiting, end })
  }
}
