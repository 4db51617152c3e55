import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The results of a series of inputs. */
export interface Report {
  /** The number of inputs that were accepted, and of those that were refused, by error code. */
  readonly worked: number
  readonly codes: Readonly<Record<string, number>>
  /** Errors that are neither results nor refusals. */
  readonly wrong: { readonly seed: number; readonly error: string }[]
  /** The peak memory of the process. */
  readonly bytes: number
}

const CHILD = fileURLToPath(new URL('child.js', import.meta.url))

/** Runs inputs [first, first + count) of a target in a new process. Throws an error with the input's number if the process crashes or hangs. */
export async function inputs(target: string, first: number, count: number, { seconds = 100 } = {}): Promise<Report> {
  const folder = await mkdtemp(join(tmpdir(), 'arbalest-fuzz-'))
  const place = join(folder, 'place')
  try {
    const child = spawn(process.execPath, [CHILD, target, String(first), String(count), place], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: seconds * 1000,
      killSignal: 'SIGKILL'
    })
    let output = ''
    let faults = ''
    child.stdout.on('data', (text: Buffer) => (output += text.toString()))
    child.stderr.on('data', (text: Buffer) => (faults += text.toString()))
    const ended = await new Promise<string | undefined>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (status, signal) => resolve(signal ?? (status === 0 ? undefined : `status ${status}`)))
    })
    if (ended === undefined) return JSON.parse(output.trim().split('\n').at(-1)!) as Report
    const seed = (await readFile(place, 'utf8').catch(() => 'before the first')).trim()
    throw new Error(`${target}: input ${seed} ended the process with ${ended}\n${faults.slice(-2000)}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
