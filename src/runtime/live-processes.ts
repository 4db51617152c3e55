import { isMainThread, threadId } from 'node:worker_threads'
import { ArbalestError, isObject } from '../errors.js'
import { ask, copies, liveSockets, processOf, serve, type Serving } from './live-socket.js'
import type { ActorSnapshot } from './snapshot.js'

/** What a process tells of its jobs: names and numbers. */
export interface LiveProcess {
  readonly pid: number
  /** None of a process that is silent. */
  readonly jobs: readonly LiveJob[]
  /** It has not answered in time: it is suspended, or something holds up its event loop. */
  readonly isSilent?: true
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

/** This user's processes that show jobs, and those that do not answer, in the order of their ids. Removes the sockets of processes that have ended. */
export async function liveProcesses(): Promise<readonly LiveProcess[]> {
  const found = (await Promise.all(liveSockets().map(jobsAt))).filter((one) => one !== undefined)
  const heard = found.filter(({ isSilent }) => !isSilent)
  // A process has a socket for each thread that runs jobs.
  const silentPids = new Set(found.map(({ pid }) => pid).filter((pid) => heard.every((each) => each.pid !== pid)))
  return [...heard, ...[...silentPids].map((pid): LiveProcess => ({ pid, jobs: [], isSilent: true }))].toSorted((a, b) => a.pid - b.pid)
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

/** undefined unless the process answers with its jobs, or does not answer in time. */
async function jobsAt(path: string): Promise<LiveProcess | undefined> {
  try {
    const found = await ask(path, { ask: 'jobs' } satisfies Request, ANSWER_DEADLINE)
    return isLiveProcess(found) ? found : undefined
  } catch (error) {
    const isLate = error instanceof ArbalestError && error.code === 'DEADLINE_EXCEEDED'
    return isLate ? { pid: processOf(path), jobs: [], isSilent: true } : undefined
  }
}

/** DEADLINE_EXCEEDED: these processes do not tell of their jobs. */
export function silent(pids: readonly number[]): ArbalestError {
  const which = pids.length === 1 ? `process ${pids[0]}` : `processes ${pids.join(', ')}`
  const message = `PID: ${which}: no answer within ${ANSWER_DEADLINE} ms; wake it if it is suspended (kill -CONT), or try again`
  return new ArbalestError('DEADLINE_EXCEEDED', message, { data: { pids, deadline: ANSWER_DEADLINE } })
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
