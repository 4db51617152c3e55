import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** Each line of stdout as JSON. */
  readonly lines: readonly Record<string, unknown>[]
}

export interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Resolves when stdout has had a line with this text; rejects where the process ends without. */
  readonly said: (text: string) => Promise<void>
}

interface StartOptions {
  readonly cwd?: string
  readonly env?: Record<string, string>
  /** A command that runs the command that follows it. */
  readonly through?: readonly string[]
}

const running = new Set<ChildProcess>()
// A test that fails leaves its processes behind.
after(() => running.forEach((child) => child.kill('SIGKILL')))

/** The command as a user starts it, in a process of its own. */
export function start(args: readonly string[], { cwd = ROOT, env = {}, through = [] }: StartOptions = {}): Running {
  const [program = process.execPath, ...words] = [...through, process.execPath, `${ROOT}bin/arbalest.js`, ...args]
  const child = spawn(program, words, { cwd, env: { ...process.env, NO_COLOR: '1', ...env } })
  running.add(child)
  child.once('close', () => running.delete(child))
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => {
      resolve({
        code,
        signal,
        stdout,
        stderr,
        get lines() {
          return stdout
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line) as Record<string, unknown>)
        }
      })
    })
  })
  const said = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (stdout.includes(text)) resolve()
      }
      child.stdout.on('data', look)
      child.once('close', () => reject(new Error(`ended without saying ${text}: ${stderr}`)))
      look()
    })
  return { child, ended, said }
}

export function run(args: readonly string[], options?: StartOptions): Promise<Ended> {
  return start(args, options).ended
}
