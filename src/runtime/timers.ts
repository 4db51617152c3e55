import type { Cancel, Clock } from './clock.js'

/** A message from an actor to itself. */
interface Note {
  readonly method: string
  readonly args: readonly unknown[]
  readonly taken?: () => void
}

/** An actor's timers: what falls due becomes a message, handled in a turn of its own. */
export class Timers {
  readonly #clock: Clock
  readonly #deliver: (note: Note) => void
  readonly #armed = new Set<Cancel>()

  constructor(clock: Clock, deliver: (note: Note) => void) {
    this.#clock = clock
    this.#deliver = deliver
  }

  after(milliseconds: number, note: Note): Cancel {
    const disarm = this.#clock.after(milliseconds, () => {
      this.#armed.delete(cancel)
      this.#deliver(note)
    })
    const cancel = this.#armedWith(() => disarm())
    return cancel
  }

  /** A beat is left out while the one before waits: a slow actor is not buried under its own beats. */
  every(milliseconds: number, note: Note): Cancel {
    let waits = false
    const beat = () => {
      disarm = this.#clock.after(milliseconds, beat)
      if (waits) return
      waits = true
      this.#deliver({ ...note, taken: () => (waits = false) })
    }
    let disarm = this.#clock.after(milliseconds, beat)
    return this.#armedWith(() => disarm())
  }

  /** All of them. */
  cancel(): void {
    for (const cancel of this.#armed) cancel()
  }

  #armedWith(disarm: () => void): Cancel {
    const cancel = () => {
      disarm()
      this.#armed.delete(cancel)
    }
    this.#armed.add(cancel)
    return cancel
  }
}
