import { ArbalestError } from '../errors.js'
import { ActorRef, type Recipient } from './actor-ref.js'
import { deadlineAfter, type Cancel } from './clock.js'
import type { Environment } from './environment.js'
import type { DeadLetterCause } from './events.js'
import type { ExitReason } from './exit-reason.js'
import { FlowControl, type MailboxOptions } from './flow-control.js'
import type { Incarnation, IncarnationOwner, Outcome, UserMessage } from './incarnation.js'
import { ActorMeter } from './meter.js'
import { PendingAsks } from './pending-asks.js'
import { deferred } from './promises.js'
import { isRestarted, type RestartType } from './supervision-policy.js'

/** How to start a child, and how to start it again. */
export interface ChildSpec {
  readonly name: string
  readonly restart: RestartType
  readonly shutdown: number
  readonly startDeadline: number
  readonly mailbox: MailboxOptions
  /** What becomes of a message that waits at its sender. */
  readonly kept: (message: UserMessage) => UserMessage
  readonly begin: (owner: IncarnationOwner, window: number, restarted: ExitReason | undefined, signal: AbortSignal) => Promise<Incarnation>
}

/** An actor over all its incarnations: the recipient behind its ref, and the unit that its parent supervises. */
export class Child implements Recipient, IncarnationOwner {
  readonly spec: ChildSpec
  readonly ref: ActorRef<object>
  readonly counters = ActorMeter.memory()
  readonly #environment: Environment
  readonly #flow: FlowControl
  readonly #pending: PendingAsks
  readonly #onExit: (reason: ExitReason) => void
  readonly #exited = deferred<ExitReason>()
  #incarnation: Incarnation | undefined
  #starting: AbortController | undefined
  #wake: (() => void) | undefined
  #halting = false
  #leaving = false
  #gone = false
  #suspended = false
  #restarts = 0

  /** `onExit` is called when an incarnation has ended, unless `halt` ended it. */
  constructor(spec: ChildSpec, environment: Environment, onExit: (child: Child, reason: ExitReason) => void) {
    this.spec = spec
    this.#environment = environment
    this.#onExit = (reason) => onExit(this, reason)
    this.#pending = new PendingAsks(spec.name, environment.clock)
    this.#flow = new FlowControl(
      spec.mailbox,
      (message) => this.#refuse(message),
      (message) => message[0] === 'tell' || this.#pending.has(message[1]),
      spec.kept
    )
    this.ref = new ActorRef(spec.name, this, this.#pending)
  }

  /** Resolves, and never rejects, when the actor has ended and will not be restarted. */
  get exited(): Promise<ExitReason> {
    return this.#exited.promise
  }

  get alive(): boolean {
    return this.#incarnation !== undefined
  }

  /** An incarnation is being started. */
  get starting(): boolean {
    return this.#starting !== undefined
  }

  /** It was asked to stop and will not be restarted. */
  get leaving(): boolean {
    return this.#leaving
  }

  get gone(): boolean {
    return this.#gone
  }

  /** Starts an incarnation. Rejects with the actor's error or with DEADLINE_EXCEEDED. */
  async start(restarted?: ExitReason): Promise<void> {
    const { begin, name, startDeadline } = this.spec
    const starting = (this.#starting = new AbortController())
    const disarm = deadlineAfter(this.#environment.clock, startDeadline, () => {
      const message = `${name}: not started within ${startDeadline} ms; allow a longer deadline`
      starting.abort(new ArbalestError('DEADLINE_EXCEEDED', message, { data: { actor: name, deadline: startDeadline } }))
    })
    try {
      const incarnation = await begin(this, this.#flow.window, restarted, starting.signal)
      if (restarted) this.#restarts++
      this.#run(incarnation)
    } finally {
      this.#starting = undefined
      disarm()
    }
  }

  send(message: UserMessage): void {
    if (this.#gone) this.#undeliverable(message)
    else this.#flow.send(message)
  }

  mailboxHasRoom(): Promise<void> {
    return this.#flow.hasRoom()
  }

  suspend(): void {
    this.#suspended = true
    this.#incarnation?.suspend()
  }

  resume(): void {
    this.#suspended = false
    this.#incarnation?.resume()
  }

  /** Stops it for good. Resolves when it has ended. */
  stop(deadline = this.spec.shutdown): Promise<ExitReason> {
    if (this.#gone) return this.exited
    this.#leaving = true
    if (this.#incarnation) this.#incarnation.stop(deadline)
    else if (this.#starting) this.#abortStart(this.#starting, deadline)
    else this.finish({ kind: 'stopped' })
    this.#wake?.()
    return this.exited
  }

  /** Ends this incarnation; another follows. */
  async halt(): Promise<void> {
    if (!this.#incarnation) return
    const { exited } = this.#incarnation
    this.#halting = true
    this.#incarnation.stop(this.spec.shutdown)
    await exited
    this.#halting = false
  }

  /** Waits; a stop ends the wait. */
  async pause(milliseconds: number): Promise<void> {
    if (this.#leaving) return
    let disarm: Cancel | undefined
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      disarm = this.#environment.clock.after(milliseconds, resolve)
    })
    disarm?.()
    this.#wake = undefined
  }

  /** The actor has ended for good: settles its asks, its ref and its dead letters. */
  finish(reason: ExitReason): void {
    if (this.#gone) return
    this.#gone = true
    for (const message of this.#flow.close()) if (message[0] === 'tell') this.lost(message[1], 'actorGone')
    this.#pending.close(reason)
    this.#exited.resolve(reason)
    this.#environment.publish({ event: 'exited', actor: this.spec.name, reason })
  }

  answer(id: number, outcome: Outcome): void {
    this.#pending.settle(id, outcome)
  }

  credit(count: number): void {
    if (this.#incarnation) this.#flow.credit(count)
  }

  lost(method: string, cause: DeadLetterCause, count = 1): void {
    this.#environment.publish({ event: 'deadLetter', actor: this.spec.name, method, cause, count })
  }

  #run(incarnation: Incarnation): void {
    this.#incarnation = incarnation
    if (this.#suspended) incarnation.suspend()
    this.#environment.publish({ event: 'started', actor: this.spec.name, restarts: this.#restarts, counters: this.counters })
    this.#flow.connect(incarnation)
    void incarnation.exited.then((reason) => this.#incarnationEnded(reason))
    if (this.#leaving) incarnation.stop(this.spec.shutdown)
  }

  #incarnationEnded(reason: ExitReason): void {
    this.#incarnation = undefined
    this.#flow.disconnect()
    this.#pending.rejectSent(reason, this.#flow.heldAsks(), this.#returns(reason))
    if (!this.#halting || this.#leaving) this.#onExit(reason)
  }

  /** Whether another incarnation is to follow the one that has ended. */
  #returns(reason: ExitReason): boolean {
    if (this.#leaving) return false
    return this.#halting ? this.spec.restart !== 'temporary' : isRestarted(this.spec.restart, reason)
  }

  #abortStart(starting: AbortController, deadline: number): void {
    const { name } = this.spec
    const message = `${name}: stopped before it had started; let its start end sooner`
    const disarm = deadlineAfter(this.#environment.clock, deadline, () =>
      starting.abort(new ArbalestError('ABORTED', message, { data: { actor: name } }))
    )
    void this.exited.then(disarm)
  }

  #refuse(message: UserMessage): void {
    if (message[0] === 'tell') return this.lost(message[1], 'mailboxFull')
    const { name } = this.spec
    const text = `${name}.${message[2]}: its mailbox is full; send more slowly, or allow a larger capacity`
    this.#pending.settle(message[1], { error: new ArbalestError('MAILBOX_FULL', text, { data: { actor: name, method: message[2] } }) })
  }

  /** An ask to an actor that has ended never comes here: PendingAsks rejects it. */
  #undeliverable(message: UserMessage): void {
    if (message[0] === 'tell') this.lost(message[1], 'actorGone')
  }
}
