import { deserialize, serialize } from 'node:v8'
import type { Engine, Handle } from '../engine/contract.js'

/** The first byte of a piece: the kind of the message that it ends, that more pieces follow, or that those before it are of no message after all. */
const BYTES = 0
const STRUCTURED = 1
const CONTINUED = 2
const WITHDRAWN = 3

/** Bytes of a piece. The engine takes messages of up to 1 GiB, and a learner's state may be larger. */
const PIECE_BYTES = 2 ** 28

/** Messages between this process and the other hosts of its run: plain data, or bytes. One mailbox a process. */
export class HostMailbox {
  readonly rank: number
  readonly size: number
  readonly #engine: Engine
  readonly #hosts: Handle
  /** The waiting receives, by host, in the order of their calls. */
  readonly #waiting = new Map<number, Receive[]>()
  /** The pieces so far of a message whose last piece has not come, by host. */
  readonly #begun = new Map<number, Uint8Array[]>()
  readonly #pieceBytes: number

  /** The hosts have met. `pieceBytes` is replaced in tests: messages that are longer go in several pieces. */
  constructor(engine: Engine, hosts: Handle, pieceBytes = PIECE_BYTES) {
    this.#engine = engine
    this.#hosts = hosts
    this.#pieceBytes = pieceBytes
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
   * has failed. Where it throws, such as for want of memory, nothing of the message arrives.
   */
  send(to: number, message: unknown): void {
    let isBegun = false
    try {
      for (const piece of packed(message, this.#pieceBytes)) {
        this.#engine.sendToHost(this.#hosts, to, piece)
        isBegun = true
      }
    } catch (error) {
      if (isBegun) this.#engine.sendToHost(this.#hosts, to, Uint8Array.of(WITHDRAWN))
      throw error
    }
  }

  /** The next message of a host. Rejects with HOST_LOST, also where that host alone is lost. */
  receive(from: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(from) ?? []
      this.#waiting.set(from, waiting)
      waiting.push({ resolve, reject })
      this.#deliver()
    })
  }

  #deliver(): void {
    for (const [from, waiting] of this.#waiting)
      while (waiting.length > 0) {
        try {
          const piece = this.#engine.takeFromHost(this.#hosts, from)
          if (piece === null) break
          const pieces = [...(this.#begun.get(from) ?? []), piece]
          const [kind] = piece
          this.#begun.set(from, kind === CONTINUED ? pieces : [])
          if (kind === CONTINUED || kind === WITHDRAWN) continue
          const message = unpacked(pieces)
          waiting.shift()!.resolve(message)
        } catch (error) {
          waiting.shift()!.reject(error)
        }
      }
  }
}

interface Receive {
  resolve(message: unknown): void
  reject(error: unknown): void
}

function* packed(message: unknown, most: number): Iterable<Uint8Array> {
  const isBytes = message instanceof Uint8Array
  const body = isBytes ? message : serialize(message)
  for (let at = 0, isLast = false; !isLast; at += most) {
    isLast = at + most >= body.length
    const part = body.subarray(at, at + most)
    const piece = new Uint8Array(1 + part.length)
    piece[0] = !isLast ? CONTINUED : isBytes ? BYTES : STRUCTURED
    piece.set(part, 1)
    yield piece
  }
}

function unpacked(pieces: readonly Uint8Array[]): unknown {
  const parts = pieces.map((piece) => piece.subarray(1))
  const body = parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  return pieces.at(-1)![0] === BYTES ? body : deserialize(body)
}
