import { ArbalestError } from '../errors.js'
import type { ExitReason } from './actor.js'
import type { Cancel } from './clock.js'
import type { LetterFate } from './events.js'
import { Gate, type MailboxOptions } from './gate.js'
import type { Correspondent, Life, Outcome, UserMessage } from './life.js'
import { Meter } from './meter.js'
import { PendingAsks } from './pending-asks.js'
import type { Realm } from './realm.js'
import { ActorRef } from './ref.js'
import type { RestartType } from './restart-policy.js'

/** How to make a child, as often as it takes. */
export interface ChildSpec {
  readonly name: string
  readonly restart: RestartType
  readonly shutdown: number
  readonly startDeadline: number
  readonly mailbox: MailboxOptions
  readonly begin: (owner: Correspondent, window: number, restarted: ExitReason | undefined, signal: AbortSignal) => Promise<Life>
}

/** An actor over all its lives: what its ref names, and what its parent supervises. */
export class Child implements Correspondent {
  readonly spec: ChildSpec
  readonly ref: ActorRef<object>
  readonly exited: Promise<ExitReason>
  readonly figures = Meter.memory()
  readonly #realm: Realm
  readonly #gate: Gate
  readonly #pending: PendingAsks
  readonly #ended: (reason: ExitReason) => void
  #life: Life | undefined
  #starting: AbortController | undefined
  #wake: (() => void) | undefined
  #halting = false
  #leaving = false
  #gone = false
  #suspended = false
  #restarts = 0
  #resolveExit!: (reason: ExitReason) => void

  /** `ended` is called when a life has ended that nobody ended on the way to another. */
  constructor(spec: ChildSpec, realm: Realm, ended: (child: Child, reason: ExitReason) => void) {
    this.spec = spec
    this.#realm = realm
    this.#ended = (reason) => ended(this, reason)
    this.exited = new Promise((resolve) => (this.#resolveExit = resolve))
    this.#pending = new PendingAsks(spec.name, realm.clock)
    this.#gate = new Gate(
      spec.mailbox,
      (message) => this.#refuse(message),
      (message) => message[0] === 'tell' || this.#pending.has(message[1])
    )
    this.ref = new ActorRef(spec.name, this, this.#pending)
  }

  get alive(): boolean {
    return this.#life !== undefined
  }

  /** A life is coming up. */
  get starting(): boolean {
    return this.#starting !== undefined
  }

  /** It was asked to stop, and will not be started again. */
  get leaving(): boolean {
    return this.#leaving
  }

  get gone(): boolean {
    return this.#gone
  }

  get restarts(): number {
    return this.#restarts
  }

  /** Messages that wait, here and in its mailbox, about. */
  get waiting(): number {
    return this.#gate.waiting
  }

  /** Begins a life. Rejects with what the actor threw, or DEADLINE_EXCEEDED. */
  async start(restarted?: ExitReason): Promise<void> {
    const { begin, name, startDeadline } = this.spec
    const starting = (this.#starting = new AbortController())
    const disarm = this.#realm.clock.after(startDeadline, () => {
      const message = `${name}: not started within ${startDeadline} ms; allow a longer deadline`
      starting.abort(new ArbalestError('DEADLINE_EXCEEDED', message, { data: { actor: name, deadline: startDeadline } }))
    })
    try {
      const life = await begin(this, this.#gate.window, restarted, starting.signal)
      if (restarted) this.#restarts++
      this.#run(life)
    } finally {
      this.#starting = undefined
      disarm()
    }
  }

  send(message: UserMessage): void {
    if (this.#gone) this.#undeliverable(message)
    else this.#gate.send(message)
  }

  room(): Promise<void> {
    return this.#gate.room()
  }

  suspend(): void {
    this.#suspended = true
    this.#life?.suspend()
  }

  resume(): void {
    this.#suspended = false
    this.#life?.resume()
  }

  /** For good. Resolves when it is no more. */
  stop(deadline = this.spec.shutdown): Promise<ExitReason> {
    if (this.#gone) return this.exited
    this.#leaving = true
    if (this.#life) this.#life.stop(deadline)
    else if (this.#starting) this.#giveUpStart(this.#starting, deadline)
    else this.finish({ kind: 'stopped' })
    this.#wake?.()
    return this.exited
  }

  /** Ends this life, for another to follow. */
  async halt(): Promise<void> {
    if (!this.#life) return
    const { exited } = this.#life
    this.#halting = true
    this.#life.stop(this.spec.shutdown)
    await exited
    this.#halting = false
  }

  /** Waits, unless it is stopped meanwhile. */
  async pause(milliseconds: number): Promise<void> {
    if (this.#leaving) return
    let disarm: Cancel | undefined
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      disarm = this.#realm.clock.after(milliseconds, resolve)
    })
    disarm?.()
    this.#wake = undefined
  }

  /** It is no more: everybody learns of it. */
  finish(reason: ExitReason): void {
    if (this.#gone) return
    this.#gone = true
    for (const message of this.#gate.close()) if (message[0] === 'tell') this.lost(message[1], 'gone')
    this.#pending.close(reason)
    this.#resolveExit(reason)
    this.#realm.publish({ event: 'exited', actor: this.spec.name, reason })
  }

  answer(id: number, outcome: Outcome): void {
    this.#pending.settle(id, outcome)
  }

  credit(count: number): void {
    if (this.#life) this.#gate.credit(count)
  }

  lost(method: string, fate: LetterFate, count = 1): void {
    this.#realm.publish({ event: 'deadLetter', actor: this.spec.name, method, fate, count })
  }

  #run(life: Life): void {
    this.#life = life
    if (this.#suspended) life.suspend()
    this.#realm.publish({ event: 'started', actor: this.spec.name, restarts: this.#restarts, figures: this.figures })
    this.#gate.open(life)
    void life.exited.then((reason) => this.#lifeEnded(reason))
    if (this.#leaving) life.stop(this.spec.shutdown)
  }

  #lifeEnded(reason: ExitReason): void {
    this.#life = undefined
    this.#gate.shut()
    this.#pending.lose(reason, this.#gate.heldAsks())
    if (!this.#halting || this.#leaving) this.#ended(reason)
  }

  #giveUpStart(starting: AbortController, deadline: number): void {
    const { name } = this.spec
    const message = `${name}: stopped before it had started; let its start end sooner`
    const disarm = this.#realm.clock.after(deadline, () => starting.abort(new ArbalestError('ABORTED', message, { data: { actor: name } })))
    void this.exited.then(disarm)
  }

  #refuse(message: UserMessage): void {
    if (message[0] === 'tell') return this.lost(message[1], 'full')
    const { name } = this.spec
    const text = `${name}.${message[2]}: its mailbox is full; send more slowly, or allow a larger capacity`
    this.#pending.settle(message[1], { error: new ArbalestError('MAILBOX_FULL', text, { data: { actor: name, method: message[2] } }) })
  }

  /** An ask of an actor that is gone is refused before it comes here. */
  #undeliverable(message: UserMessage): void {
    if (message[0] === 'tell') this.lost(message[1], 'gone')
  }
}
