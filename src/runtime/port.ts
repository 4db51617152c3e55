import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { transfer } from './cloneable.js'

/** The sending end of a channel, to be given to an actor in another thread as an argument of a message. It closes when that thread ends. */
export type SendingPort = MessagePort

/** A port whose messages call `take` in this thread. */
export function sendingPort<Message>(take: (message: Message) => void): SendingPort {
  const { port1, port2 } = new MessageChannel()
  port1.on('message', take)
  return transfer(port2, [port2])
}
