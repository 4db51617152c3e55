import { threadId } from 'node:worker_threads'
import type { ActorContext } from '../../../src/runtime/context.js'
import { describeExit, type ExitReason } from '../../../src/runtime/exit-reason.js'
import type { Clock } from '../../../src/runtime/clock.js'
import type { ActorRef } from '../../../src/runtime/actor-ref.js'
import type { SupervisionPolicy } from '../../../src/runtime/supervision-policy.js'

export type Diary = string[]

export interface MemberOptions {
  readonly diary: Diary
  /** Every incarnation but the first fails to start. */
  readonly startsOnce?: boolean
  readonly watches?: ActorRef<Member>
}

/** Records what happens to it. */
export class Member {
  readonly #options: MemberOptions
  readonly #context: ActorContext<Member>

  constructor(options: MemberOptions, context: ActorContext<Member>) {
    this.#options = options
    this.#context = context
    if (options.watches) context.watch(options.watches)
  }

  started(): void {
    this.#write('starts')
  }

  restarted(reason: ExitReason): void {
    if (this.#options.startsOnce) throw new Error('starts only once')
    this.#write(`restarts: ${reason.kind === 'failed' ? reason.error.message : describeExit(reason)}`)
  }

  terminated(actor: string, reason: ExitReason): void {
    this.#write(`hears of ${actor}: ${describeExit(reason)}`)
  }

  stopping(): void {
    this.#write('stops')
  }

  fail(message = 'told to fail'): never {
    throw new Error(message)
  }

  leave(): void {
    this.#context.stop()
  }

  alive(): boolean {
    return true
  }

  write(text: string): void {
    this.#options.diary.push(`${this.#context.name}: ${text}`)
  }

  #write(text: string): void {
    this.#options.diary.push(`${this.#context.name} ${text}`)
  }
}

export interface ParentOptions {
  readonly diary: Diary
  readonly children: number
  readonly supervision: SupervisionPolicy
}

/** Has a permanent and a transient child, and a third that is temporary with `oneForOne`. */
export class Parent {
  readonly #options: ParentOptions
  readonly #context: ActorContext<Parent>
  readonly #children: ActorRef<Member>[] = []

  constructor(options: ParentOptions, context: ActorContext<Parent>) {
    this.#options = options
    this.#context = context
    context.supervise(options.supervision)
  }

  async started(): Promise<void> {
    const { diary, children, supervision } = this.#options
    const last = supervision.strategy === 'oneForOne' || supervision.strategy === undefined ? 'temporary' : 'permanent'
    const types = ['permanent', 'transient', last] as const
    for (let i = 0; i < children; i++) {
      this.#children.push(await this.#context.spawnLocal(Member, { diary }, { name: String(i), restart: types[i % 3]! }))
    }
  }

  stopping(): void {
    this.#options.diary.push(`${this.#context.name} stops`)
  }

  children(): readonly ActorRef<Member>[] {
    return this.#children
  }

  async failChild(child: number, message: string): Promise<boolean> {
    this.#children[child]!.tell.fail(message)
    await this.#children[child]!.ask.alive().catch(() => false)
    return this.#children[child]!.ask.alive()
  }

  alive(): boolean {
    return true
  }
}

export interface GuardianOptions {
  readonly diary: Diary
  readonly clock?: Clock
}

/** Has a child whose first failure is one too many, and a message that takes long. */
export class Guardian {
  readonly #options: GuardianOptions
  readonly #context: ActorContext<Guardian>
  #child!: ActorRef<Member>

  constructor(options: GuardianOptions, context: ActorContext<Guardian>) {
    this.#options = options
    this.#context = context
    context.supervise({ intensity: { restarts: 0, within: 1 } })
  }

  async started(): Promise<void> {
    this.#child = await this.#context.spawnLocal(Member, { diary: this.#options.diary }, { name: 'child', restart: 'permanent' })
  }

  /** Its child fails, and then its own message takes this many milliseconds by its clock; for ever without a clock. */
  async work(milliseconds: number): Promise<void> {
    this.#child.tell.fail()
    await new Promise<void>((resolve) => this.#options.clock?.after(milliseconds, resolve))
    this.#options.diary.push(`${this.#context.name} has worked`)
  }

  stopping(): void {
    this.#options.diary.push(`${this.#context.name} stops`)
  }
}

export interface SlowOptions {
  readonly diary: Diary
  readonly clock: Clock
  /** Milliseconds. */
  readonly startTakes?: number
  readonly stopTakes?: number
  /** It stops itself while it starts. */
  readonly leaves?: boolean
}

/** Takes long to start and to stop. */
export class Slow {
  readonly #options: SlowOptions
  readonly #context: ActorContext<Slow>

  constructor(options: SlowOptions, context: ActorContext<Slow>) {
    this.#options = options
    this.#context = context
  }

  async started(): Promise<void> {
    this.#write('starts')
    if (this.#options.leaves) this.#context.stop()
    await this.#pass(this.#options.startTakes)
    if (this.#options.startTakes) this.#write('is up')
  }

  async stopping(): Promise<void> {
    this.#write('stops')
    await this.#pass(this.#options.stopTakes)
    this.#write('has stopped')
  }

  alive(): boolean {
    return true
  }

  write(text: string): void {
    this.#write(text)
  }

  fail(): never {
    throw new Error('told to fail')
  }

  never(): Promise<void> {
    return new Promise(() => {})
  }

  async #pass(milliseconds = 0): Promise<void> {
    if (milliseconds > 0) await new Promise<void>((resolve) => this.#options.clock.after(milliseconds, resolve))
  }

  #write(text: string): void {
    this.#options.diary.push(`${this.#context.name} ${text}`)
  }
}

/** Fails when told to, and then takes long to stop, in any thread. */
export class SlowToStop {
  readonly #stopTakes: number

  constructor({ stopTakes }: { readonly stopTakes: number }) {
    this.#stopTakes = stopTakes
  }

  async stopping(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, this.#stopTakes))
  }

  fail(): never {
    throw new Error('told to fail')
  }

  thread(): number {
    return threadId
  }
}

/** The same, with children that are as slow. */
export class SlowParent extends Slow {
  readonly #children: () => Promise<unknown>

  constructor({ children, ...options }: SlowOptions & { readonly children: number }, context: ActorContext<Slow>) {
    super(options, context)
    this.#children = async () => {
      for (let i = 0; i < children; i++) await context.spawnLocal(Slow, options, { name: `${i}` })
    }
  }

  override async started(): Promise<void> {
    await super.started()
    await this.#children()
  }
}
