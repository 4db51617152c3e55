import { rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { isMainThread, threadId } from 'node:worker_threads'
import type { ActorSnapshot } from '../snapshot.js'
import { makeLiveFolder } from './folders.js'

/** What a process tells whoever asks on its socket: names and numbers, one line of JSON a connection. */
export interface LiveProcess {
  readonly pid: number
  readonly jobs: readonly LiveJob[]
}

export interface LiveJob {
  readonly name: string
  /** Seconds since it began. */
  readonly seconds: number
  readonly actors: readonly ActorSnapshot[]
}

/** A unix socket's address has no room for more. */
const LONGEST_PATH = 107

/** One socket a thread, however many jobs run there: the one state of the runtime that no object holds. */
const jobs = new Set<() => LiveJob>()
let serving: { readonly server: Server; readonly path: string } | undefined

/**
 * Lets this user's other processes see a job's actors until what comes back is disposed of. Keeps no process alive; without a folder
 * that is this user's alone, or with ARBALEST_TOP=off, the job just cannot be seen.
 */
export function showLive(name: string, actors: () => readonly ActorSnapshot[]): Disposable {
  if (process.env['ARBALEST_TOP'] === 'off') return { [Symbol.dispose]() {} }
  const began = performance.now()
  const job = () => ({ name, seconds: (performance.now() - began) / 1000, actors: actors() })
  jobs.add(job)
  serving ??= serve()
  return {
    [Symbol.dispose]() {
      if (jobs.delete(job) && jobs.size === 0) close()
    }
  }
}

function serve(): typeof serving {
  const folder = makeLiveFolder()
  const path = folder && join(folder, `${process.pid}${isMainThread ? '' : `-${threadId}`}.sock`)
  if (path === undefined || path.length > LONGEST_PATH) return undefined
  // An earlier process of this id may have been killed without a word. Whatever else lies there is not ours to take away.
  if (!removed(path)) return undefined
  const server = createServer((socket) => {
    // Who hangs up early, or does not listen, is no concern of the job's.
    socket.on('error', () => {}).unref()
    const told: LiveProcess = { pid: process.pid, jobs: [...jobs].map((job) => job()) }
    socket.end(`${JSON.stringify(told)}\n`)
  })
  server.on('error', () => close())
  server.listen(path).unref()
  process.once('exit', close)
  return { server, path }
}

function close(): void {
  if (!serving) return
  process.off('exit', close)
  serving.server.close()
  removed(serving.path)
  serving = undefined
}

function removed(path: string): boolean {
  try {
    rmSync(path, { force: true })
    return true
  } catch {
    return false
  }
}
