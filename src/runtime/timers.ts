import type { Cancel, Clock } from './clock.js'

/** A message from an actor to itself. */
interface TimedMessage {
  readonly method: string
  readonly args: readonly unknown[]
  readonly onTaken?: () => void
}

/** An actor's timers. Each sends the actor a message when it is due. */
export class TimerScheduler {
  readonly #clock: Clock
  readonly #deliver: (message: TimedMessage) => void
  readonly #armed = new Set<Cancel>()
  #ended = false

  constructor(clock: Clock, deliver: (message: TimedMessage) => void) {
    this.#clock = clock
    this.#deliver = deliver
  }

  after(milliseconds: number, message: TimedMessage): Cancel {
    if (this.#ended) return () => {}
    const disarm = this.#clock.after(milliseconds, () => {
      this.#armed.delete(cancel)
      this.#deliver(message)
    })
    const cancel = this.#register(() => disarm())
    return cancel
  }

  /** Skips a message while the previous one still waits, so that a slow actor's mailbox does not grow. */
  every(milliseconds: number, message: TimedMessage): Cancel {
    if (this.#ended) return () => {}
    let waiting = false
    const fire = () => {
      disarm = this.#clock.after(milliseconds, fire)
      if (waiting) return
      waiting = true
      this.#deliver({ ...message, onTaken: () => (waiting = false) })
    }
    let disarm = this.#clock.after(milliseconds, fire)
    return this.#register(() => disarm())
  }

  /** The actor ends: its timers are cancelled, and those that its current message or its last hook sets are not armed. */
  end(): void {
    this.#ended = true
    for (const cancel of this.#armed) cancel()
  }

  #register(disarm: () => void): Cancel {
    const cancel = () => {
      disarm()
      this.#armed.delete(cancel)
    }
    this.#armed.add(cancel)
    return cancel
  }
}
