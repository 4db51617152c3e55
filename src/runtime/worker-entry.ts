/** Where a worker with actors in it begins. */
import { parentPort, workerData } from 'node:worker_threads'
import type { ExitReason } from './actor.js'
import { Cell } from './cell.js'
import { Inbox, Outbox, type Envelope, type Message } from './envelope.js'
import { packError, unpackExit, type PortableError } from './errors-across-threads.js'
import { packEvent } from './events.js'
import { LateFamily } from './late-family.js'
import type { Outcome } from './life.js'
import { loadClass } from './load-class.js'
import type { Realm } from './realm.js'
import { threadRealm } from './thread-realm.js'
import type { ThreadOrder, ThreadStart, WorkerStart } from './worker-thread.js'

/** An actor in this thread, with the port to its owner. */
class Resident {
  readonly #start: WorkerStart
  readonly #realm: Realm
  readonly #outbox: Outbox
  readonly #inbox = new Inbox()
  readonly #unread: string[] = []
  #taken = 0

  constructor(start: WorkerStart, realm: Realm) {
    this.#start = start
    this.#realm = realm
    this.#outbox = new Outbox(start.port, (message, error) => {
      if (message[0] === 'answer') this.#outbox.post(['error', message[1], packError(error)])
    })
  }

  async live(): Promise<void> {
    const { name, module, className, options, flag, figures, shutdown, restarted, port } = this.#start
    const flags = new Int32Array(flag)
    const flagged = () => Atomics.load(flags, 0) !== 0
    const setting = { name, realm: this.#realm, figures, shutdown, flagged }
    try {
      const cell = await Cell.start(await loadClass(module, className), options, setting, restarted && unpackExit(restarted))
      port.on('message', (envelope: Envelope) => this.#receive(cell, envelope))
      this.#say(['started'])
      this.leave(await cell.exited)
    } catch (error) {
      this.#farewell(packError(error))
    }
    port.close()
  }

  leave(reason: ExitReason): void {
    this.#farewell(reason.kind === 'failed' ? packError(reason.error) : null)
  }

  #farewell(failure: PortableError | null): void {
    this.#say(['gone', failure, this.#unread])
  }

  #receive(cell: Cell, envelope: Envelope): void {
    for (const message of this.#inbox.open(envelope)) {
      if (message[0] === 'tell') {
        cell.deliver({ method: message[1], args: message[2], reply: undefined, taken: this.#onTaken, lost: this.#onLost })
      } else if (message[0] === 'ask') {
        const id = message[1]
        const reply = (outcome: Outcome) =>
          this.#outbox.post('error' in outcome ? ['error', id, packError(outcome.error)] : ['answer', id, outcome.value])
        cell.deliver({ method: message[2], args: message[3], reply, taken: this.#onTaken, lost: undefined })
      } else if (message[0] === 'stop') cell.stop()
      else if (message[0] === 'suspend') cell.suspend()
      else if (message[0] === 'resume') cell.resume()
    }
  }

  /** Credits go back in handfuls: the sender has others meanwhile. */
  readonly #onTaken = (): void => {
    if (++this.#taken < this.#start.creditEvery) return
    this.#outbox.post(['credit', this.#taken])
    this.#taken = 0
  }

  readonly #onLost = (method: string): void => void this.#unread.push(method)

  #say(message: Message): void {
    this.#outbox.post(message)
    this.#outbox.flush()
  }
}

const { first, shared, pulse } = workerData as ThreadStart
const residents = new Set<Resident>()
const realm = threadRealm(new URL(import.meta.url), (event) => parentPort!.postMessage(packEvent(event)), LateFamily)

// The thread dies right after this; it is the last chance to say why with the error's code, data and cause.
process.on('uncaughtExceptionMonitor', (error) => {
  for (const resident of residents) resident.leave({ kind: 'failed', error })
})

if (pulse) {
  const count = new Int32Array(pulse.memory)
  Atomics.add(count, 0, 1)
  setInterval(() => Atomics.add(count, 0, 1), pulse.every).unref()
}

// Listening keeps the thread alive, so that only a thread with more actors to come listens.
if (shared) {
  parentPort!.on('message', (order: ThreadOrder) => {
    if (order[0] === 'spawn') void host(order[1])
    else parentPort!.close()
  })
}
await host(first)

async function host(start: WorkerStart): Promise<void> {
  const resident = new Resident(start, realm)
  residents.add(resident)
  await resident.live()
  residents.delete(resident)
}
