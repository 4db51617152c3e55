import { readdirSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, join } from 'node:path'
import { isOurs, liveFolders, SOCKET } from './folders.js'
import type { LiveProcess } from './serve.js'

const DEADLINE = 2_000

/** This user's processes that show jobs, by their ids. Sockets that nobody serves any more are removed. */
export async function liveProcesses(): Promise<readonly LiveProcess[]> {
  const paths = liveFolders()
    .filter(isOurs)
    .flatMap((folder) => namesIn(folder).map((name) => join(folder, name)))
  const found = await Promise.all(paths.map(ask))
  return found.filter((one) => one !== undefined).toSorted((a, b) => a.pid - b.pid)
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => SOCKET.test(name))
  } catch {
    return []
  }
}

/** undefined where nobody answers in time. */
function ask(path: string): Promise<LiveProcess | undefined> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(path).setEncoding('utf8').setTimeout(DEADLINE)
    socket.on('data', (more: string) => (text += more))
    socket.on('timeout', () => socket.destroy())
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED' && !lives(path)) rmSync(path, { force: true })
    })
    socket.on('close', () => resolve(parsed(text)))
  })
}

/** A process that is about to listen refuses too, and keeps its socket. */
function lives(path: string): boolean {
  try {
    return process.kill(Number(SOCKET.exec(basename(path))?.[1]), 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function parsed(text: string): LiveProcess | undefined {
  try {
    return JSON.parse(text) as LiveProcess
  } catch {
    return undefined
  }
}
