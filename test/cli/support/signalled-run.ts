import { once } from 'node:events'
import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Checkpoint } from '../../../src/checkpoints/checkpoint.js'
import { checkpointsIn } from '../../../src/checkpoints/store.js'
import { start, type Ended } from './arbalest.js'
import { RUN } from './killed-run.js'

/** What ends a process, as a user, a shell, a system manager, the kernel or a fault of the process's own does. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGQUIT', 'SIGTERM', 'SIGKILL', 'SIGALRM', 'SIGUSR2', 'SIGABRT', 'SIGSEGV', 'SIGBUS'] as const
const STATUS: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 }

/** A run that is ended by signals and by full disks again and again, in a folder of its own. */
export class SignalledRun {
  readonly #folder: string
  readonly #random: () => number

  /** `random` gives numbers from 0 to 1. */
  constructor(folder: string, random: () => number) {
    this.#folder = folder
    this.#random = random
  }

  get #command(): string[] {
    return [
      ...RUN,
      '--checkpoint-dir',
      join(this.#folder, 'kept'),
      '--checkpoint-period',
      '10',
      '--save',
      join(this.#folder, 'model.safetensors')
    ]
  }

  /** Sends a random signal at a random moment, and now and then a second one. Throws where the end is not one that was promised. */
  async kill(): Promise<string> {
    const signal = this.#oneOf(SIGNALS)
    const { child, ended, said } = start(this.#command, { env: { TMPDIR: this.#folder } })
    // While it starts, or in most cases while it trains, measures, writes and ends.
    if (this.#random() < 0.8) await said('"started"').catch(() => {})
    await Promise.race([sleep(2000 * this.#random()), once(child, 'close')])
    child.kill(signal)
    if (this.#random() < 0.2) {
      await Promise.race([sleep(1500 * this.#random()), once(child, 'close')])
      child.kill(this.#oneOf(SIGNALS))
    }
    const end = await ended
    const how = end.signal ?? String(end.code)
    const isPromised = end.signal !== null || end.code === 0 || Object.values(STATUS).includes(end.code!)
    if (!isPromised) throw new Error(`${signal}: ended with ${how}\n${end.stderr}`)
    if (end.code !== null) this.#checkEnd(end)
    await this.#checkWhole()
    return how
  }

  /** Lets no file become longer than a random number of bytes. Throws where the process ends without a word. */
  async fill(): Promise<string> {
    const most = Math.floor(2 ** (23 * this.#random()))
    const end = await start(this.#command, { env: { TMPDIR: this.#folder }, through: ['prlimit', `--fsize=${most}`] }).ended
    await this.#checkWhole()
    if (end.code === 0) {
      this.#checkEnd(end)
      return 'undisturbed'
    }
    const incomplete = end.stdout.includes('"checkpoints":"incomplete"')
    const word = /^([A-Z_]+): /m.exec(end.stderr)?.[1]
    if (end.code !== 1 || !(incomplete || word === 'WRITE_FAILED'))
      throw new Error(`files of ${most} bytes: ended with ${end.signal ?? end.code}\n${end.stderr}`)
    return word ?? 'incomplete'
  }

  /** Undisturbed to its end: the hash of its weights. */
  async finish(): Promise<unknown> {
    const end = await start(this.#command).ended
    if (end.code !== 0) throw new Error(`ended with ${end.signal ?? end.code}: ${end.stderr}`)
    await this.#checkWhole()
    const left = (await readdir(this.#folder)).map((name) => basename(name)).filter((name) => name.startsWith('saved-model-'))
    if (left.length > 0) throw new Error(`left behind: ${left.join(', ')}`)
    await rm(this.#folder, { recursive: true })
    return end.lines.at(-1)!['weightsSha256']
  }

  #oneOf<T>(values: readonly T[]): T {
    return values[Math.floor(values.length * this.#random())]!
  }

  /** A run that ends by itself has told how, and what it told is on the disk. */
  #checkEnd({ code, lines, stderr }: Ended): void {
    const last = lines.at(-1)
    if (last?.['event'] !== 'finished') throw new Error(`ended with ${code} and without a word: ${JSON.stringify(last)}\n${stderr}`)
    const iteration = last['iterations']
    const kept = lines.some((line) => line['event'] === 'checkpoint' && line['iteration'] === iteration && line['folder'] !== null)
    const wasThere = lines.some((line) => line['event'] === 'resumed' && line['iteration'] === iteration)
    if (iteration !== 0 && !kept && !wasThere) throw new Error(`ended with ${code} and no checkpoint of iteration ${String(iteration)}`)
  }

  /** Whatever has a checkpoint's name is one, to the last byte. */
  async #checkWhole(): Promise<void> {
    for (const { folder } of await checkpointsIn(join(this.#folder, 'kept'))) await Checkpoint.open(folder)
  }
}

/** The hash of the weights of a run that nothing disturbs. */
export async function undisturbed(folder: string): Promise<unknown> {
  return new SignalledRun(folder, () => 0).finish()
}
