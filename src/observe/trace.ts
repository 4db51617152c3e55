import { sharedClock, TraceRing, type Span } from './trace-ring.js'
import type { GroupStatus } from '../engine/contract.js'
import type { JobEvent } from './events.js'
import { TraceFile } from './trace-file.js'

export interface TraceSettings {
  readonly file: string
  /** So many steps of each learner are told in their segments. */
  readonly steps: number
}

/** What a trace looks at beside the learners. */
export interface WatchedGroup {
  readonly status: () => Promise<GroupStatus>
  /** From the bottom, and what they have done since it was asked last, as `Engine.levelSpans` gives it. */
  readonly levels: readonly string[]
  readonly levelSpans: () => Float64Array
}

/** How often learners' spans are taken out of their memory, in milliseconds: that holds 8192 of a learner. */
const EVERY = 100

const SUPERVISOR = 'supervisor'
const SYNCHRONISER = 'synchroniser'
const EVALUATION = 'evaluation'
const AVERAGING = 'averaging'

/** Writes down what the actors of a run do, while they do it. */
export class Trace {
  readonly #file: TraceFile
  readonly #steps: number
  readonly #rings = new Map<number, TraceRing>()
  #timer: NodeJS.Timeout | undefined
  #group: WatchedGroup | undefined
  #seen: { readonly time: number; readonly round: number; readonly position: number } | undefined

  /** Throws WRITE_FAILED. */
  constructor({ file, steps }: TraceSettings, title: string) {
    this.#file = new TraceFile(file, title)
    this.#steps = steps
  }

  /** For a learner that is about to be made. */
  learner(learner: number): { readonly memory: SharedArrayBuffer; readonly detail: number } {
    const ring = new TraceRing({ detail: this.#steps })
    this.#rings.set(learner, ring)
    return { memory: ring.memory, detail: this.#steps }
  }

  /** Begins to look at the learners, and at their group. */
  watch(group: WatchedGroup): void {
    this.#group = group
    // From here on they are recorded.
    group.levelSpans()
    const look = () => {
      void group
        .status()
        .then((now) => this.#look(now))
        .catch(() => {})
    }
    // The first rounds are told of as well: from now on.
    look()
    this.#timer = setInterval(look, EVERY)
  }

  /** Before the group goes. */
  unwatch(): void {
    clearInterval(this.#timer)
    const group = this.#group
    // Also where the engine has no more to say of it.
    this.#group = undefined
    if (group) this.#drainLevels(group)
  }

  /** A stretch of work of the evaluators or the supervisor. */
  async during<T>(what: 'evaluation' | 'change of the population', work: () => Promise<T>): Promise<T> {
    const start = sharedClock()
    try {
      return await work()
    } finally {
      this.#file.span(what === 'evaluation' ? EVALUATION : SUPERVISOR, what, { start, end: sharedClock() })
    }
  }

  event(event: JobEvent): void {
    switch (event.event) {
      case 'population':
        this.#instant(SUPERVISOR, `population: ${event.action}`, event)
        break
      case 'learnerLost':
        this.#instant(SUPERVISOR, 'learner lost', event)
        break
      case 'evaluated':
        this.#instant(EVALUATION, 'evaluated', event)
        break
      default:
      // Whatever else happens is seen in what the actors do.
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
    const before = this.#seen
    this.#seen = { time, round, position }
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

  #drainLevels({ levels, levelSpans }: WatchedGroup): void {
    const spans = levelSpans()
    for (let i = 0; i < spans.length; i += 4) {
      const [level, round, start, end] = spans.subarray(i, i + 4) as unknown as [number, number, number, number]
      const row = level < 0 ? AVERAGING : `level ${levels[level]}`
      this.#file.span(row, `round ${round}`, { start: 1000 * start, end: 1000 * end })
    }
  }

  #drain(): void {
    if (this.#group) this.#drainLevels(this.#group)
    for (const [learner, ring] of this.#rings) {
      const { spans, lost } = ring.read()
      const row = `learner ${learner}`
      for (const span of spans) this.#span(row, span)
      if (lost > 0) this.#file.instant(row, 'spans lost', { lost })
    }
  }

  #span(row: string, { kind, start, end, steps, waitSeconds, dataSeconds }: Span): void {
    const waiting = Math.min(1000 * waitSeconds, end - start)
    const forData = Math.min(1000 * dataSeconds, end - start - waiting)
    const args = kind === 'run' ? { steps, waitingMilliseconds: waiting, waitingForDataMilliseconds: forData } : {}
    this.#file.span(row, kind === 'run' ? `${steps} ${steps === 1 ? 'step' : 'steps'}` : kind, { start, end, args })
    // Where in a call of many steps it waited nobody knows: the sums are drawn at its end.
    if (forData > 0) this.#file.span(row, 'waiting for data', { start: end - waiting - forData, end: end - waiting })
    if (waiting > 0) this.#file.span(row, 'waiting', { start: end - waiting, end })
  }
}
