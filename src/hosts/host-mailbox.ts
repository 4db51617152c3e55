import { deserialize, serialize } from 'node:v8'
import type { Engine, Handle } from '../engine/contract.js'
import { ArbalestError } from '../errors.js'

/** The first byte of a message says what the others are. */
const BYTES = 0
const STRUCTURED = 1

export interface ReceiveOptions {
  /** Rejects with HOST_LOST after so many seconds; without, only the link's own deadline ends the wait. */
  readonly seconds?: number
  readonly signal?: AbortSignal
}

/** Messages between this process and the other hosts of its run: plain data, or bytes. One mailbox a process. */
export class HostMailbox {
  readonly rank: number
  readonly size: number
  readonly #engine: Engine
  readonly #hosts: Handle
  /** The waiting receives, by host, in the order of their calls. */
  readonly #waiting = new Map<number, Receive[]>()

  /** The hosts have met. */
  constructor(engine: Engine, hosts: Handle) {
    this.#engine = engine
    this.#hosts = hosts
    ;({ rank: this.rank, size: this.size } = engine.hostsPlace(hosts)!)
    engine.watchHosts(hosts, () => this.#deliver())
  }

  /** The ranks of the other hosts that are there. Throws HOST_LOST once the link has failed. */
  get others(): readonly number[] {
    const lost = this.lost
    return Array.from({ length: this.size }, (_, rank) => rank).filter((rank) => rank !== this.rank && !lost.includes(rank))
  }

  /** The ranks of the hosts that are lost, while the others go on. Throws HOST_LOST once the link has failed. */
  get lost(): readonly number[] {
    return this.#engine.lostHosts(this.#hosts)
  }

  /**
   * Sends what can be posted to a thread, without memory that is shared. Returns at once; messages to one host arrive in order. Throws HOST_LOST once the link
   * has failed.
   */
  send(to: number, message: unknown): void {
    this.#engine.sendToHost(this.#hosts, to, packed(message))
  }

  /** The next message of a host. Rejects with HOST_LOST, also where that host alone is lost, or with the signal's reason. */
  receive(from: number, { seconds, signal }: ReceiveOptions = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted()
      const waiting = this.#waiting.get(from) ?? []
      this.#waiting.set(from, waiting)
      const leave = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
        waiting.splice(waiting.indexOf(receive), 1)
      }
      const receive: Receive = {
        settle: (message) => {
          leave()
          resolve(message)
        },
        fail: (error) => {
          leave()
          reject(error)
        }
      }
      const abort = (): void => receive.fail(signal!.reason)
      const late = (): void => receive.fail(new ArbalestError('HOST_LOST', `host ${from}: it has not answered within ${seconds} s`))
      const timer = seconds === undefined ? undefined : setTimeout(late, 1000 * seconds)
      signal?.addEventListener('abort', abort)
      waiting.push(receive)
      this.#deliver()
    })
  }

  #deliver(): void {
    for (const [from, waiting] of this.#waiting)
      while (waiting.length > 0) {
        try {
          const message = this.#engine.takeFromHost(this.#hosts, from)
          if (message === null) break
          waiting[0]!.settle(unpacked(message))
        } catch (error) {
          waiting[0]!.fail(error)
        }
      }
  }
}

interface Receive {
  settle(message: unknown): void
  fail(error: unknown): void
}

function packed(message: unknown): Uint8Array {
  const isBytes = message instanceof Uint8Array
  const body = isBytes ? message : serialize(message)
  const whole = new Uint8Array(1 + body.length)
  whole[0] = isBytes ? BYTES : STRUCTURED
  whole.set(body, 1)
  return whole
}

function unpacked(message: Uint8Array): unknown {
  const body = message.subarray(1)
  return message[0] === BYTES ? body : deserialize(body)
}
