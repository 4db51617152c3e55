import { ArbalestError } from '../../errors.js'
import type { Clock } from '../clock.js'
import type { Interceptor, Passage } from '../realm.js'

/** What goes wrong with a message: it is lost, it and those behind it come later, or its actor fails in its place. */
export type Fault = 'drop' | 'crash' | { readonly delay: number }

/** Which message: the `nth` of all that fit, counted from 1. What is left out fits all. */
export interface FaultRule {
  readonly actor?: string
  readonly method?: string
  readonly nth: number
  readonly fault: Fault
}

/** Does harm to chosen messages on their way. */
export class FaultInjector {
  readonly #clock: Clock
  readonly #rules: { readonly rule: FaultRule; seen: number }[] = []
  /** Until when an actor's messages are held up, so that none overtakes another. */
  readonly #heldUntil = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Faults for messages to come; where several are due for one, the first decides. */
  add(...rules: readonly FaultRule[]): void {
    for (const rule of rules) this.#rules.push({ rule, seen: 0 })
  }

  readonly intercept: Interceptor = (actor, method, passage) => {
    const fault = this.#faultFor(actor, method)
    if (fault === 'drop') passage.drop()
    else if (fault === 'crash') passage.crash(new ArbalestError('ACTOR_FAILED', `${actor}.${method}: crashed by the fault injector`))
    else this.#deliver(actor, passage, fault?.delay ?? 0)
  }

  /** Every rule counts every message that fits it; the first that is due decides. */
  #faultFor(actor: string, method: string): Fault | undefined {
    let due: Fault | undefined
    for (const entry of this.#rules) {
      const { rule } = entry
      if ((rule.actor ?? actor) !== actor || (rule.method ?? method) !== method) continue
      if (++entry.seen === rule.nth) due ??= rule.fault
    }
    return due
  }

  #deliver(actor: string, passage: Passage, delay: number): void {
    const now = this.#clock.now()
    const held = this.#heldUntil.get(actor) ?? -1
    if (delay === 0 && held < now) return passage.deliver()
    const at = Math.max(now + delay, held)
    this.#heldUntil.set(actor, at)
    this.#clock.after(at - now, passage.deliver)
  }
}
