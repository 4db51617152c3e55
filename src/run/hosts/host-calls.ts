import { serialize } from 'node:v8'
import { messageOf, warn } from '../../errors.js'
import type { HostMailbox } from '../../hosts/host-mailbox.js'
import { REAL_CLOCK } from '../../runtime/clock.js'
import { packError, unpackError, type PortableError } from '../../runtime/errors-across-threads.js'
import { PendingAsks } from '../../runtime/pending-asks.js'

/** Asks another host for something that is answered by a HostAnswer of the same number. */
export interface HostCall {
  readonly call: number
  readonly method: string
  readonly args: readonly unknown[]
}

export type HostAnswer = { readonly answer: number } & ({ readonly value: unknown } | { readonly error: PortableError })

/** Calls at one other host, and answers to its calls. Their values are what can be posted to a thread, without memory that is shared. */
export class HostCalls {
  readonly #mailbox: HostMailbox
  readonly #rank: number
  readonly #pending: PendingAsks

  constructor(mailbox: HostMailbox, rank: number) {
    this.#mailbox = mailbox
    this.#rank = rank
    this.#pending = new PendingAsks(`host ${rank}`, REAL_CLOCK)
  }

  /** Has no deadline: the loss of the host ends it. */
  ask(method: string, args: readonly unknown[]): Promise<unknown> {
    return this.#pending.open(method, { deadline: Infinity }, (call) => {
      try {
        this.#mailbox.send(this.#rank, { call, method, args } satisfies HostCall)
      } catch (error) {
        this.#pending.settle(call, { error })
      }
    })
  }

  /** The other host is lost: what waits for its answers rejects. */
  lose(error: unknown): void {
    this.#pending.rejectAll(error)
  }

  settle(answer: HostAnswer): void {
    this.#pending.settle(answer.answer, 'error' in answer ? { error: unpackError(answer.error) } : answer)
  }

  /** Answers a call of the other host with what `work` returns or throws. Never rejects: a host that is lost needs no answer. */
  async answer({ call }: HostCall, work: () => Promise<unknown>): Promise<void> {
    const outcome = await work().then(
      (value) => (isSendable(value) ? { value } : { error: packError(new TypeError('the answer cannot be sent to another host')) }),
      (error: unknown) => ({ error: packError(error) })
    )
    try {
      this.#mailbox.send(this.#rank, { answer: call, ...outcome } satisfies HostAnswer)
    } catch (error) {
      // The link has failed, which ends the run by itself.
      if ((error as { code?: unknown }).code !== 'HOST_LOST') warn(messageOf(error))
    }
  }
}

function isSendable(value: unknown): boolean {
  try {
    serialize(value)
    return true
  } catch {
    return false
  }
}
