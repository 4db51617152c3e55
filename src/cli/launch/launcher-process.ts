import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { ArbalestError } from '../../errors.js'
import type { LauncherProgram } from '../../hosts/launcher-program.js'
import { NOT_ALL_CHECKPOINTS } from '../reporters/messages.js'
import { LauncherMessages, type LostProcess } from './launcher-messages.js'

/** How a launcher has ended. */
export interface LauncherEnd {
  /** 128 and the signal's number if it was killed. */
  readonly status: number
  /** The codes of the errors that processes reported on stderr. */
  readonly codes: ReadonlySet<string>
  readonly lost: LostProcess | undefined
  /** The launcher's own reason, if it gave one. */
  readonly reason: string | undefined
  /** The last `failed` line on stdout, which was kept back: after a restart it is not the end. */
  readonly failed: string | undefined
  /** Whether the run came to its end and lacks a checkpoint, for which the processes exit with 1. */
  readonly lacksCheckpoint: boolean
}

export interface LauncherOutput {
  readonly json: boolean
  /** Shows the launcher's messages as they are. */
  readonly raw: boolean
}

/**
 * The signal with which a launcher passes on the request to stop at the next round. Node.js uses SIGUSR1 itself; SIGUSR2 ends Hydra, which passes on SIGINT.
 */
const STOP_SIGNAL = { 'Open MPI': 'SIGUSR2', MPICH: 'SIGINT', Slurm: 'SIGUSR2' } as const

const STATUS_BY_SIGNAL: Readonly<Record<string, number>> = { SIGINT: 130, SIGKILL: 137, SIGTERM: 143 }

/** A launcher at work. */
export class LauncherProcess {
  readonly ended: Promise<LauncherEnd>
  readonly #pid: number | undefined
  readonly #messages = new LauncherMessages()
  readonly #kind: LauncherProgram['kind']
  #failed: string | undefined
  #lacksCheckpoint = false

  constructor(kind: LauncherProgram['kind'], line: readonly string[], env: NodeJS.ProcessEnv, { json, raw }: LauncherOutput) {
    this.#kind = kind
    const [program, ...words] = [...diesWithUs(env), ...line] as [string, ...string[]]
    // In a process group of its own: Ctrl-C reaches this process alone, which asks for a stop at the next round.
    const child = spawn(program, words, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#pid = child.pid
    const show = (each: string): void => {
      this.#lacksCheckpoint ||= json ? /^\{"event":"finished".*"checkpoints":"incomplete"/.test(each) : each.endsWith(NOT_ALL_CHECKPOINTS)
      if (json && each.startsWith('{"event":"failed"')) this.#failed = each
      else if (!json || each !== '') process.stdout.write(`${each}\n`)
    }
    createInterface({ input: child.stdout })
      .on('line', (each) => this.#messages.shownOnStdout(each).forEach(show))
      .on('close', () => this.#messages.endOfStdout().forEach(show))
    createInterface({ input: child.stderr }).on('line', (each) => {
      if (this.#messages.isShown(each) || raw) process.stderr.write(`${each}\n`)
    })
    this.ended = new Promise((resolve, reject) => {
      child.once('error', (cause) => reject(new ArbalestError('BACKEND_UNAVAILABLE', `launch: ${line[0]}: ${cause.message}`, { cause })))
      child.once('close', (status, signal) => resolve(this.#end(status ?? STATUS_BY_SIGNAL[signal!] ?? 1)))
    })
  }

  /** The processes stop at their next round. */
  stop(): void {
    this.#kill(STOP_SIGNAL[this.#kind])
  }

  /** The launcher ends them. */
  terminate(): void {
    this.#kill('SIGTERM')
  }

  #kill(signal: NodeJS.Signals): void {
    if (this.#pid === undefined) return
    try {
      process.kill(this.#pid, signal)
    } catch {
      // It has ended already.
    }
  }

  #end(status: number): LauncherEnd {
    const { codes, lost, firstSentence: reason } = this.#messages
    return { status, codes, lost, reason, failed: this.#failed, lacksCheckpoint: this.#lacksCheckpoint }
  }
}

/** The beginning of a command line by which the kernel ends the launcher when this process is killed; empty where util-linux is missing. */
function diesWithUs({ PATH = '' }: NodeJS.ProcessEnv): readonly string[] {
  const setpriv = PATH.split(delimiter)
    .map((folder) => join(folder, 'setpriv'))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
  return setpriv === undefined ? [] : [setpriv, '--pdeathsig', 'TERM', '--']
}
