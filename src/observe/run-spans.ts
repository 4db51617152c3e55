import { context, SpanStatusCode, trace, type Attributes, type Context, type Span, type SpanOptions } from '@opentelemetry/api'
import type { RoundFigures } from '../engine/contract.js'
import { packageVersion } from '../package-version.js'
import type { RecordedEvent } from './events.js'
import type { EventSink } from './sinks.js'
import { sharedClock } from './trace-ring.js'

/** The sampled rounds after this one, as the synchroniser tells them. */
type SampledRounds = (after: number) => Promise<readonly RoundFigures[]>

/** Milliseconds between two looks at the rounds: they are sampled while somebody asks at least every two seconds. */
const LOOK_EVERY = 1000

/**
 * Spans of OpenTelemetry: one for the run, a child of the span in which it was started, and in it one for each evaluation, each checkpoint and about ten rounds a second.
 * Everything else that happens is an event of the run's span.
 */
export class RunSpans implements EventSink {
  readonly #tracer = trace.getTracer('arbalest', packageVersion())
  readonly #run: Span
  readonly #inRun: Context
  /** Milliseconds since 1970 when the clock of the rounds was 0. */
  readonly #epoch = Date.now() - sharedClock()
  #rounds: SampledRounds | undefined
  #timer: NodeJS.Timeout | undefined
  #lastRound = -1

  constructor() {
    const around = context.active()
    this.#run = this.#tracer.startSpan('arbalest.run', {}, around)
    this.#inRun = trace.setSpan(around, this.#run)
  }

  /** Looks at the rounds from now on. */
  async watch(rounds: SampledRounds): Promise<void> {
    this.#rounds = rounds
    this.#lastRound = -1
    this.#timer = setInterval(() => void this.#look(), LOOK_EVERY)
    // The first look begins the sampling.
    await this.#look()
  }

  /** Must be called before the group is released. */
  async unwatch(): Promise<void> {
    clearInterval(this.#timer)
    await this.#look()
    this.#rounds = undefined
  }

  write(event: RecordedEvent, seconds: number): void {
    const now = 1000 * seconds
    switch (event.event) {
      case 'run':
      case 'progress':
      case 'logged':
        break
      case 'started':
      case 'finished':
        this.#run.setAttributes(attributesOf(event))
        break
      case 'evaluated':
        this.#past('arbalest.evaluation', { start: now - 1000 * event.seconds, end: now, attributes: attributesOf(event) })
        break
      case 'checkpoint':
        this.#past('arbalest.checkpoint', {
          start: now - 1000 * event.seconds,
          end: now,
          attributes: attributesOf(event),
          error: event.code !== null ? event.reason : null
        })
        break
      case 'failed':
        this.#run.setStatus({ code: SpanStatusCode.ERROR, message: event.message })
        this.#run.recordException({ name: event.code, message: event.message }, now)
        break
      default:
        this.#run.addEvent(event.event, attributesOf(event), now)
    }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#run.end()
  }

  async #look(): Promise<void> {
    // An error means that the group has ended, which the run's events report.
    const rounds = (await this.#rounds?.(this.#lastRound).catch(() => [])) ?? []
    for (const round of rounds) {
      // Two looks may overlap.
      if (round.round <= this.#lastRound) continue
      this.#lastRound = round.round
      this.#past('arbalest.round', {
        start: this.#epoch + 1000 * round.began,
        end: this.#epoch + 1000 * round.seconds,
        attributes: attributesOfRound(round)
      })
    }
  }

  /** Records work that has already ended. */
  #past(name: string, { start, end, attributes, error = null }: Past): void {
    const options: SpanOptions = { startTime: start, attributes }
    const span = this.#tracer.startSpan(name, options, this.#inRun)
    if (error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: error })
    span.end(end)
  }
}

interface Past {
  /** Milliseconds since 1970. */
  readonly start: number
  readonly end: number
  readonly attributes: Attributes
  /** Why the work failed; null where it did not. */
  readonly error?: string | null
}

function attributesOfRound({ round, iteration, loss, averaged, members }: RoundFigures): Attributes {
  const distances = members.flatMap(({ distance }) => (distance === null ? [] : [distance]))
  return attributesOf({
    round,
    iteration,
    loss,
    learners: members.length,
    averagingSeconds: averaged,
    longestWaitSeconds: Math.max(0, ...members.map(({ waited }) => waited)),
    ...(distances.length > 0 && { greatestDistance: Math.max(...distances) })
  })
}

/** The longest text that is an attribute, in characters: arguments of a message, in base64, may be as long as a model. */
const LONGEST_TEXT = 4096

/** The numbers, names and truths of an object and of the objects in it, as attributes are named: `testMetrics.f1` is `arbalest.test_metrics.f1`. */
function attributesOf(fields: object): Attributes {
  const { event: _, ...told } = fields as { readonly event?: unknown }
  return Object.fromEntries(attributesIn(told, 'arbalest'))
}

function attributesIn(fields: object, path: string): readonly [name: string, value: string | number | boolean][] {
  return Object.entries(fields).flatMap(([name, value]: [string, unknown]) => {
    const attribute = `${path}.${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return attributesIn(value, attribute)
    const isTold =
      typeof value === 'string'
        ? value.length <= LONGEST_TEXT
        : typeof value === 'number'
          ? Number.isFinite(value)
          : typeof value === 'boolean'
    return isTold ? [[attribute, value as string | number | boolean]] : []
  })
}
