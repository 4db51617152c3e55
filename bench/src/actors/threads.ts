import { spawn, Thread, Worker, type ModuleThread } from 'threads'
import { unsupported, type Contestant } from './contestant.js'
import type { ThreadsCounter } from './threads-worker.js'

/** The library takes a path relative to the file that starts the worker. */
const WORKER = './threads-worker.js'

export async function openThreads(): Promise<Contestant> {
  const thread = await spawn<ModuleThread<ThreadsCounter>>(new Worker(WORKER))
  return {
    echo: async (value) => await thread.echo(value),
    add: () => unsupported('a message without an answer'),
    added: async () => await thread.added(),
    close: () => Thread.terminate(thread)
  }
}
