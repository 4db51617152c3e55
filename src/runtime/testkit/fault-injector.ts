import { ArbalestError, invalidOption, isObject } from '../../errors.js'
import { checkMilliseconds, type Clock } from '../clock.js'
import type { Interception, Interceptor } from '../environment.js'

/** What goes wrong with a message: it is lost, its actor fails instead of handling it, or it and those behind it are delayed. */
export type Fault = 'drop' | 'crash' | { readonly delay: number }

/** Which message: the `nth` that matches, counted from 1. An omitted actor or method matches all. */
export interface FaultRule {
  readonly actor?: string
  readonly method?: string
  readonly nth: number
  readonly fault: Fault
}

function checkRule(rule: FaultRule): void {
  if (!isObject(rule)) throw invalidOption('rule', rule, "use an object, such as { nth: 1, fault: 'drop' }")
  const { nth, fault } = rule
  if (!Number.isInteger(nth) || nth < 1) throw invalidOption('nth', nth, 'use a whole number of 1 or more')
  if (fault === 'drop' || fault === 'crash') return
  if (!isObject(fault)) throw invalidOption('fault', fault, 'use drop, crash or { delay: milliseconds }')
  checkMilliseconds('fault.delay', fault.delay)
}

/** Injects faults into chosen messages on their way. */
export class FaultInjector {
  readonly #clock: Clock
  readonly #rules: { readonly rule: FaultRule; seen: number }[] = []
  /** Until when the messages to an actor are delayed, so that none overtakes another. */
  readonly #delayedUntil = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Adds faults for future messages. Throws INVALID_OPTION for a rule by which nothing would ever go wrong. */
  add(...rules: readonly FaultRule[]): void {
    for (const rule of rules) checkRule(rule)
    for (const rule of rules) this.#rules.push({ rule, seen: 0 })
  }

  readonly intercept: Interceptor = (actor, method, message) => {
    const fault = this.#faultFor(actor, method)
    if (fault === 'drop') message.drop()
    else if (fault === 'crash') message.crash(new ArbalestError('ACTOR_FAILED', `${actor}.${method}: crashed by the fault injector`))
    else this.#deliver(actor, message, fault?.delay ?? 0)
  }

  /** Every rule counts the messages that match it; of several that are due, the first decides. */
  #faultFor(actor: string, method: string): Fault | undefined {
    let due: Fault | undefined
    for (const entry of this.#rules) {
      const { rule } = entry
      if ((rule.actor ?? actor) !== actor || (rule.method ?? method) !== method) continue
      if (++entry.seen === rule.nth) due ??= rule.fault
    }
    return due
  }

  #deliver(actor: string, message: Interception, delay: number): void {
    const now = this.#clock.now()
    const delayedUntil = this.#delayedUntil.get(actor) ?? -1
    if (delay === 0 && delayedUntil < now) return message.deliver()
    const at = Math.max(now + delay, delayedUntil)
    this.#delayedUntil.set(actor, at)
    this.#clock.after(at - now, message.deliver)
  }
}
