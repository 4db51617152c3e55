import { lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { isMainThread, threadId } from 'node:worker_threads'
import type { ActorSnapshot } from './snapshot.js'

/** What a process reports on its socket: names and numbers, as one line of JSON for each connection. */
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

/** `1234.sock` is served by the process of that id, `1234-5.sock` by a worker thread of it. */
const SOCKET = /^([1-9]\d*)(?:-\d+)?\.sock$/
/** The longest path that fits into a unix socket's address. */
const LONGEST_PATH = 107
/** Milliseconds that a process may take for its complete answer. */
const ANSWER_DEADLINE = 2_000
/** The longest answer in characters: more than thousands of actors need. */
const MAX_ANSWER = 2 ** 24

/** One socket for each thread, however many jobs run there: the only module state of the runtime. */
const jobs = new Set<() => LiveJob>()
let serving: { readonly server: Server; readonly path: string } | undefined

/**
 * Shows a job's actors to this user's other processes until the result is disposed of. Keeps no process alive. The job stays invisible if
 * there is no folder that belongs to this user alone, or with ARBALEST_TOP=off.
 */
export function showLive(name: string, actors: () => readonly ActorSnapshot[]): Disposable {
  if (process.env['ARBALEST_TOP'] === 'off') return { [Symbol.dispose]() {} }
  const began = performance.now()
  const job = () => ({ name, seconds: (performance.now() - began) / 1000, actors: actors() })
  jobs.add(job)
  serving ??= serve()
  return {
    [Symbol.dispose]() {
      if (jobs.delete(job) && jobs.size === 0) stopServing()
    }
  }
}

/** This user's processes that show jobs, in the order of their ids. Removes the sockets of processes that have ended. */
export async function liveProcesses(): Promise<readonly LiveProcess[]> {
  const paths = liveFolders()
    .filter(isPrivate)
    .flatMap((folder) => socketsIn(folder).map((name) => join(folder, name)))
  const found = await Promise.all(paths.map(ask))
  return found.filter((one) => one !== undefined).toSorted((a, b) => a.pid - b.pid)
}

function serve(): typeof serving {
  const folder = makeLiveFolder()
  const path = folder && join(folder, `${process.pid}${isMainThread ? '' : `-${threadId}`}.sock`)
  if (path === undefined || path.length > LONGEST_PATH) return undefined
  // An earlier process of the same id may have been killed and left its socket. Anything that cannot be removed is not ours.
  if (!removed(path)) return undefined
  removeDeadSockets(dirname(path))
  const server = createServer((socket) => {
    // A client that disconnects early must not disturb the job.
    socket.on('error', () => {}).unref()
    const live: LiveProcess = { pid: process.pid, jobs: [...jobs].map((job) => job()) }
    socket.end(`${JSON.stringify(live)}\n`)
  })
  server.on('error', () => stopServing())
  server.listen(path).unref()
  process.once('exit', stopServing)
  return { server, path }
}

function stopServing(): void {
  if (!serving) return
  process.off('exit', stopServing)
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

function socketsIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => SOCKET.test(name))
  } catch {
    return []
  }
}

/** undefined if there is no answer in time. */
function ask(path: string): Promise<LiveProcess | undefined> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(path).setEncoding('utf8')
    const fail = () => {
      text = ''
      socket.destroy()
    }
    // For the whole answer: a process that sends a byte now and then must not hold up the others.
    const deadline = setTimeout(fail, ANSWER_DEADLINE)
    socket.on('data', (more: string) => {
      text += more
      if (text.length > MAX_ANSWER) fail()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A running process that is about to listen refuses, too; its socket stays.
      if (error.code === 'ECONNREFUSED' && !processRuns(path)) rmSync(path, { force: true })
    })
    socket.on('close', () => {
      clearTimeout(deadline)
      resolve(parsed(text))
    })
  })
}

/** Removes the sockets of processes that were killed. */
function removeDeadSockets(folder: string): void {
  for (const name of socketsIn(folder)) if (!processRuns(name)) removed(join(folder, name))
}

function processRuns(path: string): boolean {
  try {
    return process.kill(Number(SOCKET.exec(basename(path))?.[1]), 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/** undefined unless the text is the answer of a process that shows its jobs. */
function parsed(text: string): LiveProcess | undefined {
  try {
    const answer: unknown = JSON.parse(text)
    return isLiveProcess(answer) ? answer : undefined
  } catch {
    return undefined
  }
}

function isLiveProcess(answer: unknown): answer is LiveProcess {
  return isObject(answer) && isNumber(answer['pid']) && Array.isArray(answer['jobs']) && answer['jobs'].every(isLiveJob)
}

function isLiveJob(job: unknown): job is LiveJob {
  return (
    isObject(job) &&
    typeof job['name'] === 'string' &&
    isNumber(job['seconds']) &&
    Array.isArray(job['actors']) &&
    job['actors'].every(isSnapshot)
  )
}

const NUMBERS = [
  'thread',
  'depth',
  'deferred',
  'messages',
  'timed',
  'waitTime',
  'handleTime',
  'restarts',
  'heap'
] as const satisfies (keyof ActorSnapshot)[]

function isSnapshot(actor: unknown): actor is ActorSnapshot {
  return (
    isObject(actor) &&
    typeof actor['name'] === 'string' &&
    typeof actor['busy'] === 'boolean' &&
    NUMBERS.every((name) => isNumber(actor[name]))
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value)
}

/** Where this user's processes have their sockets, the preferred folder first. A system without sessions has no XDG_RUNTIME_DIR. */
function liveFolders(): readonly string[] {
  const session = process.env['XDG_RUNTIME_DIR']
  const shared = join(tmpdir(), `arbalest-${userId()}`)
  return session ? [join(session, 'arbalest'), shared] : [shared]
}

/** The first folder that exists or can be made for this user alone; undefined if there is none. */
function makeLiveFolder(): string | undefined {
  return liveFolders().find((folder) => {
    try {
      mkdirSync(folder, { mode: 0o700 })
    } catch {
      // It exists already or cannot be made; `isPrivate` tells which.
    }
    return isPrivate(folder)
  })
}

/** Whether a folder belongs to this user alone. In a temporary directory others can make folders, and links to them. */
function isPrivate(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found !== undefined && found.isDirectory() && found.uid === userId() && (found.mode & 0o077) === 0
}

function userId(): number {
  return process.getuid?.() ?? 0
}
