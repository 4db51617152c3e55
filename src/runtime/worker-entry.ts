/** Where a worker with an actor of its own begins. */
import { workerData } from 'node:worker_threads'
import { unknownName } from '../errors.js'
import type { ActorClass, ExitReason } from './actor.js'
import { Cell } from './cell.js'
import { Outbox, type Envelope, type Message } from './envelope.js'
import { packError } from './errors-across-threads.js'
import type { WorkerStart } from './worker-link.js'

const { port, name, module, className, options } = workerData as WorkerStart

const outbox = new Outbox(port, (message, error) => {
  if (message[0] === 'answer') outbox.post(['error', message[1], packError(error)])
})

// The thread dies right after this; it is the last chance to say why with the error's code, data and cause.
process.on('uncaughtExceptionMonitor', (error) => say(['gone', packError(error)]))

try {
  const cell = await Cell.start(name, await load(), options)
  port.on('message', (envelope: Envelope) => receive(cell, envelope))
  say(['started'])
  void cell.exited.then(leave)
} catch (error) {
  say(['gone', packError(error)])
  port.close()
}

function receive(cell: Cell, envelope: Envelope): void {
  for (const message of envelope) {
    if (message[0] === 'stop') cell.stop()
    else if (message[0] === 'tell') cell.deliver({ method: message[1], args: message[2] })
    else if (message[0] === 'ask') {
      const id = message[1]
      const reply = (outcome: { value: unknown } | { error: unknown }) =>
        outbox.post('error' in outcome ? ['error', id, packError(outcome.error)] : ['answer', id, outcome.value])
      cell.deliver({ method: message[2], args: message[3], reply })
    }
  }
}

async function load(): Promise<ActorClass> {
  const exported = (await import(module)) as Record<string, unknown>
  const found = exported[className]
  if (typeof found !== 'function') throw unknownName(`class in ${module}`, className, Object.keys(exported))
  return found as ActorClass
}

function leave(reason: ExitReason): void {
  say(['gone', reason.kind === 'failed' ? packError(reason.error) : null])
  port.close()
}

function say(message: Message): void {
  outbox.post(message)
  outbox.flush()
}
