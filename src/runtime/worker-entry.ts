/** The module that a worker thread with actors starts with. */
import { parentPort, workerData } from 'node:worker_threads'
import { ArbalestError } from '../errors.js'
import { loadByRequire } from '../own-module.js'
import { loadActorClass } from './actor.js'
import { ActorCell } from './actor-cell.js'
import { threadEnvironment, type Environment } from './environment.js'
import { packError, type PortableError } from './errors-across-threads.js'
import { packEvent } from './events.js'
import { unpackExit, type ExitReason } from './exit-reason.js'
import type { Outcome } from './incarnation.js'
import { LazyChildren } from './lazy-children.js'
import { Inbox, Outbox, type Message, type Packet } from './wire-protocol.js'
import type { ActorStart, ThreadCommand, ThreadStart } from './worker-thread.js'

/** An actor in this thread and the port to its owner in another. */
class HostedActor {
  readonly #start: ActorStart
  readonly #environment: Environment
  readonly #outbox: Outbox
  readonly #inbox = new Inbox()
  readonly #unread: string[] = []
  #taken = 0
  /** Tells whose turn has begun. */
  #begun = 0

  constructor(start: ActorStart, environment: Environment) {
    this.#start = start
    this.#environment = environment
    this.#outbox = new Outbox(start.port, (message, error) => {
      if (message[0] === 'answer') this.#outbox.post(['error', message[1], packError(error)])
    })
  }

  get name(): string {
    return this.#start.name
  }

  /** Resolves when the actor has ended. */
  async run(): Promise<void> {
    const { name, module, className, options, counters, shutdown, restarted, port } = this.#start
    const flag = new Int32Array(this.#start.stopFlag)
    const stopFlag = () => Atomics.load(flag, 0) !== 0
    const onEnding = () => this.#postNow(['ending'])
    const cellOptions = { name, environment: this.#environment, counters, shutdown, stopFlag, onEnding }
    try {
      const actorClass = await loadActorClass(module, className)
      const cell = await ActorCell.start(actorClass, options, cellOptions, restarted && unpackExit(restarted))
      port.on('message', (packet: Packet) => this.#receive(cell, packet))
      this.#postNow(['started'])
      this.reportExit(await cell.exited)
    } catch (error) {
      this.#postExit(packError(error))
    }
    port.close()
  }

  reportExit(reason: ExitReason): void {
    this.#postExit(reason.kind === 'failed' ? packError(reason.error) : null)
  }

  #postExit(failure: PortableError | null): void {
    this.#postNow(['exited', failure, this.#begun, this.#unread])
  }

  #receive(cell: ActorCell, packet: Packet): void {
    for (const message of this.#inbox.read(packet)) {
      if (message[0] === 'tell') {
        cell.deliver({ method: message[1], args: message[2], reply: undefined, onTaken: this.#onTold, onLost: this.#onLost })
      } else if (message[0] === 'ask') {
        const id = message[1]
        const reply = (outcome: Outcome) =>
          this.#outbox.post('error' in outcome ? ['error', id, packError(outcome.error)] : ['answer', id, outcome.value])
        cell.deliver({ method: message[2], args: message[3], reply, onTaken: this.#onTaken, onLost: undefined })
      } else if (message[0] === 'stop') cell.stop()
      else if (message[0] === 'suspend') cell.suspend()
      else if (message[0] === 'resume') cell.resume()
    }
  }

  readonly #onTold = (): void => {
    this.#begun++
    this.#onTaken()
  }

  /** Returns credits in batches; the sender has others meanwhile. */
  readonly #onTaken = (): void => {
    if (++this.#taken < this.#start.creditEvery) return
    this.#outbox.post(['credit', this.#taken])
    this.#taken = 0
  }

  readonly #onLost = (method: string): void => void this.#unread.push(method)

  #postNow(message: Message): void {
    this.#outbox.post(message)
    this.#outbox.flush()
  }
}

function startNeverEnds(actor: string): ArbalestError {
  const message = `${actor}: its start awaits what never settles, and its thread has nothing else to do; look at what its module and its \`started\` hook await`
  return new ArbalestError('ACTOR_GONE', message, { data: { actor } })
}

loadByRequire()

const { first, shared, heartbeat } = workerData as ThreadStart
const actors = new Set<HostedActor>()
const environment = threadEnvironment(
  new URL('./worker-start.js', import.meta.url),
  (event) => parentPort!.postMessage(packEvent(event)),
  LazyChildren
)

// The thread dies right after this event. Only here can the error's code, data and cause still be reported.
process.on('uncaughtExceptionMonitor', (error) => {
  for (const actor of actors) actor.reportExit({ kind: 'failed', error })
})

// A running actor's port keeps the thread alive: the start of these awaits what never settles.
process.once('beforeExit', () => {
  for (const actor of actors) actor.reportExit({ kind: 'failed', error: startNeverEnds(actor.name) })
})

if (heartbeat) {
  const count = new Int32Array(heartbeat.memory)
  Atomics.add(count, 0, 1)
  setInterval(() => Atomics.add(count, 0, 1), heartbeat.every).unref()
}

// A listener keeps the thread alive, so only a shared thread, which waits for further actors, listens.
if (shared) {
  parentPort!.on('message', (command: ThreadCommand) => {
    if (command[0] === 'spawn') void host(command[1])
    else parentPort!.close()
  })
}
void host(first)

async function host(start: ActorStart): Promise<void> {
  const actor = new HostedActor(start, environment)
  actors.add(actor)
  await actor.run()
  actors.delete(actor)
}
