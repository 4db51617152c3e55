import { lstatSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { isMainThread, threadId } from 'node:worker_threads'
import { ArbalestError, codeOf, isObject, messageOf, type ErrorCode } from '../errors.js'
import { isNetworkDenied } from '../node.js'

/**
 * A socket of this thread's, in a folder that belongs to this user alone. A client sends one line of JSON, gets one line of JSON, and the connection
 * ends.
 */

/** `1234.sock` is served by the process of that id, `1234-5.sock` by a worker thread of it, `1234.1.sock` by a second copy of this package there. */
const SOCKET = /^([1-9]\d*)(?:-\d+)?(?:\.\d+)?\.sock$/
/** The longest path that fits into a unix socket's address, in bytes. Of a longer one the system takes the beginning, which is in another folder. */
const LONGEST_PATH = 107
/** Milliseconds that a client may take for its complete request. */
const REQUEST_DEADLINE = 2_000
/** The longest request in characters. */
const MAX_REQUEST = 2 ** 16
/** The longest answer in characters: more than thousands of actors need. */
const MAX_ANSWER = 2 ** 24

/** Answers a request, which is any JSON value. What it throws is the client's error. */
export type Answer = (request: unknown) => unknown

export interface Serving {
  close(): void
}

/** What all copies of this package in a thread share. */
export const copies: { readonly sockets: Set<string>; lastJob: number } = ((globalThis as Record<symbol, unknown>)[
  Symbol.for('arbalest.live')
] ??= { sockets: new Set(), lastJob: 0 }) as never

/**
 * Serves requests until it is closed. Keeps no process alive. undefined if there is no folder that belongs to this user alone, and under
 * --permission without a network.
 */
export function serve(answer: Answer): Serving | undefined {
  if (isNetworkDenied()) return undefined
  const folder = makeLiveFolder()
  const path = folder && ownPath(folder)
  if (path === undefined || Buffer.byteLength(path) > LONGEST_PATH) return undefined
  // An earlier process of the same id may have been killed and left its socket. Anything that cannot be removed is not ours.
  if (!removed(path)) return undefined
  removeDeadSockets(dirname(path))
  const server = createServer((socket) => void answerOn(socket, answer))
  const serving = { close: () => stopServing(server, path, serving) }
  server.on('error', serving.close)
  server.listen(path).unref()
  copies.sockets.add(path)
  process.once('exit', serving.close)
  return serving
}

/** The sockets of this user's processes. */
export function liveSockets(): readonly string[] {
  return liveFolders()
    .filter(isPrivate)
    .flatMap((folder) => socketsIn(folder).map((name) => join(folder, name)))
}

/**
 * The answer to a request. Rejects with the error that the process answers with, with DEADLINE_EXCEEDED if there is no complete answer within `deadline`
 * milliseconds, and with ACTOR_GONE if the process has ended, whose socket is removed, or if it answers with anything but JSON.
 */
export function ask(path: string, request: unknown, deadline: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = connect(path)
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    // For the whole answer: a process that sends a byte now and then must not hold up its reader.
    const timer =
      deadline === Infinity
        ? undefined
        : setTimeout(() => fail(failure('DEADLINE_EXCEEDED', path, `no answer for ${deadline} ms`)), deadline)
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // A running process that is about to listen refuses, too; its socket stays.
      if (error.code === 'ECONNREFUSED' && !processRuns(path)) removed(path)
      fail(failure('ACTOR_GONE', path, messageOf(error)))
    })
    socket.write(`${JSON.stringify(request)}\n`)
    readLine(socket, MAX_ANSWER)
      .then((line) => answered(line, path))
      .then(resolve, reject)
      .finally(() => clearTimeout(timer))
  })
}

/** The id of the process that serves a socket. */
export function processOf(path: string): number {
  return Number(SOCKET.exec(basename(path))?.[1])
}

async function answerOn(socket: Socket, answer: Answer): Promise<void> {
  // A client that disconnects early must not disturb the job.
  socket.on('error', () => {}).unref()
  const deadline = setTimeout(() => socket.destroy(), REQUEST_DEADLINE).unref()
  const reply = await readLine(socket, MAX_REQUEST)
    .then((line) => {
      clearTimeout(deadline)
      return answer(parsed(line))
    })
    // JSON has no room for some answers, such as a BigInt.
    .then((value) => JSON.stringify({ answer: value ?? null }))
    .catch((error: unknown) => {
      const code = codeOf(error)
      return JSON.stringify({ error: { code, message: messageOf(error) } })
    })
  clearTimeout(deadline)
  socket.end(`${reply}\n`)
}

/** The first line that comes. Rejects with INVALID_OPTION if the connection ends before, or if the line is too long. */
function readLine(socket: Socket, longest: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const parts: string[] = []
    let length = 0
    const take = (more: string) => {
      const end = more.indexOf('\n')
      parts.push(end >= 0 ? more.slice(0, end) : more)
      length += more.length
      if (end >= 0) {
        // What follows the line is not kept.
        socket.off('data', take).resume()
        resolve(parts.join(''))
      } else if (length > longest) {
        reject(new ArbalestError('INVALID_OPTION', `socket: received more than ${longest} characters; send one line of JSON`))
        socket.destroy()
      }
    }
    socket.setEncoding('utf8').on('data', take)
    socket.on('close', () =>
      reject(new ArbalestError('ACTOR_GONE', 'socket: the connection was closed before a complete line; send one line of JSON'))
    )
  })
}

function answered(line: string, path: string): unknown {
  const reply = parsed(line)
  if (isObject(reply) && 'answer' in reply) return reply['answer']
  const error = isObject(reply) && isObject(reply['error']) ? reply['error'] : {}
  const { code, message } = error
  if (typeof code !== 'string' || typeof message !== 'string')
    throw failure('ACTOR_GONE', path, 'it answers with something else than a reply')
  throw new ArbalestError(code as ErrorCode, message)
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch (cause) {
    throw new ArbalestError('INVALID_OPTION', 'socket: received a line that is not JSON; send one line of JSON', { cause })
  }
}

function failure(code: ErrorCode, path: string, what: string): ArbalestError {
  const pid = processOf(path)
  return new ArbalestError(code, `process ${pid}: ${what}`, { data: { pid } })
}

function ownPath(folder: string): string {
  const thread = `${process.pid}${isMainThread ? '' : `-${threadId}`}`
  for (let copy = 0; ; copy++) {
    const path = join(folder, `${thread}${copy === 0 ? '' : `.${copy}`}.sock`)
    if (!copies.sockets.has(path)) return path
  }
}

function stopServing(server: Server, path: string, serving: Serving): void {
  process.off('exit', serving.close)
  server.close()
  removed(path)
  copies.sockets.delete(path)
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

/** Removes the sockets of processes that were killed. */
function removeDeadSockets(folder: string): void {
  for (const name of socketsIn(folder)) if (!processRuns(name)) removed(join(folder, name))
}

function processRuns(path: string): boolean {
  try {
    return process.kill(processOf(path), 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
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
  try {
    const found = lstatSync(folder)
    return found.isDirectory() && found.uid === userId() && (found.mode & 0o077) === 0
  } catch {
    // It does not exist, or lies in a folder of another user: `sudo -E` keeps that user's XDG_RUNTIME_DIR.
    return false
  }
}

function userId(): number {
  return process.getuid?.() ?? 0
}
