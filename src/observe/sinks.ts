import { messageOf, warn } from '../errors.js'
import type { RecordedEvent } from './events.js'

/** Receives every event of one run: a log, curves for TensorBoard, a trace. */
export interface EventSink {
  /** `seconds` since 1970, with their fraction. May throw: the sink is then closed, and the run goes on. */
  write(event: RecordedEvent, seconds: number): void
  close(): void
}

/** The sinks of one run. One that fails is closed with a warning, because hours of training are worth more than their log. */
export class EventSinks implements EventSink {
  readonly #sinks = new Set<EventSink>()

  add<Sink extends EventSink>(sink: Sink): Sink {
    this.#sinks.add(sink)
    return sink
  }

  write(event: RecordedEvent, seconds = Date.now() / 1000): void {
    for (const sink of this.#sinks) if (!succeeds(() => sink.write(event, seconds))) this.#close(sink)
  }

  close(): void {
    for (const sink of this.#sinks) this.#close(sink)
  }

  #close(sink: EventSink): void {
    this.#sinks.delete(sink)
    succeeds(() => sink.close())
  }
}

function succeeds(work: () => void): boolean {
  try {
    work()
    return true
  } catch (cause) {
    warn(`a run's record is written no further: ${messageOf(cause)}`)
    return false
  }
}
