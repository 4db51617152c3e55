/** A thread that sends messages to the actors of a run in another. */
import { parentPort, workerData } from 'node:worker_threads'
import type { MessagePort } from '../../src/runtime/port.js'
import { chatterOver, type ChatterOptions } from '../run/support/chatter.js'

const { port, options } = workerData as { readonly port: MessagePort; readonly options: ChatterOptions }
// Calls over the port keep no thread alive.
const alive = setInterval(() => {}, 1000)
parentPort!.postMessage(await chatterOver(port, options))
clearInterval(alive)
