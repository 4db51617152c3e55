import { fileURLToPath } from 'node:url'
import { spawn, Thread, Worker, type ModuleThread } from 'threads'
import { unsupported, type Contestant } from './contestant.js'
import type { ThreadsCounter } from './threads-worker.js'

const WORKER = fileURLToPath(new URL('./threads-worker.js', import.meta.url))

export async function openThreads(): Promise<Contestant> {
  const thread = await spawn<ModuleThread<ThreadsCounter>>(new Worker(WORKER))
  return {
    echo: async (value) => await thread.echo(value),
    add: () => unsupported('a message without an answer'),
    added: async () => await thread.added(),
    close: () => Thread.terminate(thread)
  }
}
