import { isMainThread, threadId } from 'node:worker_threads'
import { ArbalestError } from '../errors.js'
import { ask, copies, isObject, liveSockets, processOf, serve, type Serving } from './live-socket.js'
import type { ActorSnapshot } from './snapshot.js'

/** What a process tells of its jobs: names and numbers. */
export interface LiveProcess {
  readonly pid: number
  readonly jobs: readonly LiveJob[]
}

export interface LiveJob {
  /** Unique in its process. */
  readonly id: string
  readonly name: string
  /** Seconds since it began. */
  readonly seconds: number
  /** How it is, in a few words; absent if it does not say. */
  readonly detail?: string
  /** Whether it carries out calls; no if absent. */
  readonly takesCalls?: boolean
  readonly actors: readonly ActorSnapshot[]
}

/** What a job shows to this user's other processes, and what it takes from them. */
export interface ShownJob {
  readonly name: string
  readonly detail?: () => string
  readonly actors: () => readonly ActorSnapshot[]
  /** Carries out a call, which is any JSON value, and answers with one. Absent: the job takes no calls. */
  readonly call?: (call: unknown) => Promise<unknown>
}

/** The requests that a process answers. */
type Request = { readonly ask: 'jobs' } | { readonly ask: 'call'; readonly job: string; readonly call: unknown }

/** Milliseconds that a process may take to tell of its jobs. */
const ANSWER_DEADLINE = 2_000

/** One socket for each thread and copy of this package, however many jobs run there: the only module state of the runtime. */
const jobs = new Map<string, ShownJob & { readonly began: number }>()
let serving: Serving | undefined

/**
 * Shows a job to this user's other processes until the result is disposed of. Keeps no process alive. The job stays invisible if there is no
 * folder that belongs to this user alone, or with ARBALEST_TOP=off.
 */
export function showLive(job: ShownJob): Disposable {
  if (process.env['ARBALEST_TOP'] === 'off') return { [Symbol.dispose]() {} }
  const id = `${isMainThread ? '' : `${threadId}-`}${++copies.lastJob}`
  jobs.set(id, { ...job, began: performance.now() })
  serving ??= serve(answer)
  return {
    [Symbol.dispose]() {
      if (!jobs.delete(id) || jobs.size > 0) return
      serving?.close()
      serving = undefined
    }
  }
}

/** This user's processes that show jobs, in the order of their ids. Removes the sockets of processes that have ended. */
export async function liveProcesses(): Promise<readonly LiveProcess[]> {
  const found = await Promise.all(liveSockets().map(jobsAt))
  return found.filter((one) => one !== undefined).toSorted((a, b) => a.pid - b.pid)
}

/**
 * Has a job of another process of this user carry out a call, and answers with its result. Rejects with the job's error, and with ACTOR_GONE if the
 * process or the job has ended.
 */
export async function callJob(pid: number, job: string, call: unknown): Promise<unknown> {
  const request: Request = { ask: 'call', job, call }
  for (const path of liveSockets().filter((each) => processOf(each) === pid)) {
    // A process has one socket for each of its threads that runs jobs.
    const there = await jobsAt(path)
    if (there?.jobs.some(({ id }) => id === job)) return ask(path, request, Infinity)
  }
  throw new ArbalestError('ACTOR_GONE', `job ${job} of process ${pid}: it has ended`, { data: { pid, job } })
}

function answer(request: unknown): unknown {
  if (isObject(request) && request['ask'] === 'jobs') return told()
  if (!isObject(request) || request['ask'] !== 'call') throw new ArbalestError('INVALID_OPTION', 'ask: use "jobs" or "call"')
  const job = jobs.get(request['job'] as string)
  if (!job) throw new ArbalestError('ACTOR_GONE', `job ${String(request['job'])}: it has ended`)
  if (!job.call) throw new ArbalestError('INVALID_STATE', `job ${String(request['job'])}: it takes no calls`)
  return job.call(request['call'])
}

function told(): LiveProcess {
  const now = performance.now()
  const all = [...jobs].map(([id, { name, actors, began, detail, call }]) => ({
    id,
    name,
    seconds: (now - began) / 1000,
    actors: actors(),
    ...(detail && { detail: detail() }),
    ...(call && { takesCalls: true })
  }))
  return { pid: process.pid, jobs: all }
}

/** undefined unless the process answers in time with its jobs. */
async function jobsAt(path: string): Promise<LiveProcess | undefined> {
  const found = await ask(path, { ask: 'jobs' } satisfies Request, ANSWER_DEADLINE).catch(() => undefined)
  return isLiveProcess(found) ? found : undefined
}

function isLiveProcess(found: unknown): found is LiveProcess {
  return isObject(found) && isNumber(found['pid']) && Array.isArray(found['jobs']) && found['jobs'].every(isLiveJob)
}

function isLiveJob(job: unknown): job is LiveJob {
  return (
    isObject(job) &&
    typeof job['id'] === 'string' &&
    typeof job['name'] === 'string' &&
    isNumber(job['seconds']) &&
    (job['detail'] === undefined || typeof job['detail'] === 'string') &&
    (job['takesCalls'] === undefined || typeof job['takesCalls'] === 'boolean') &&
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

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value)
}
