import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ArbalestError } from '../errors.js'
import type { Command } from '../side.js'

/** A launcher runs this as it would run ssh. */
export const AGENT = script('agent')

/** Enough for segments that the kernel joins to one packet, and for a timer of a busy machine that is late. */
const BURST = '128kb'
/** What waits longer than this in front of a link is dropped, as a switch does. */
const QUEUE = '50ms'
/** A folder of the laboratory's own: launchers know their processes there by host and number, which are the same in every laboratory. */
const TEMPORARY = '/mnt'
/** Milliseconds for what takes less than one second. */
const DEADLINE = 20_000

/** Racks of so many hosts each, the first ones in the first, and the rate between a rack and the others in megabits a second. */
export interface ShapedRacks {
  readonly perRack: number
  readonly acrossMbit: number
}

/** Bytes on the link of a host. The kernel joins segments to larger packets, and counts the headers of these. */
export interface LinkBytes {
  readonly sent: number
  readonly received: number
}

/**
 * Hosts on one machine: namespaces with a link each to a bridge, shaped to a rate in both directions. All of it, the bridge too, is in namespaces of its own:
 * no address or interface of the machine changes. It lives as long as this process has it open: if this process is killed, the kernel ends the processes in the
 * laboratory and removes its interfaces.
 */
export class Laboratory implements AsyncDisposable {
  readonly hosts: number
  /** The first process of the laboratory's namespaces, and the one that waits for it. */
  readonly #first: number
  readonly #holder: ChildProcess

  private constructor(hosts: number, first: number, holder: ChildProcess) {
    this.hosts = hosts
    this.#first = first
    this.#holder = holder
  }

  /**
   * `mbit` is the rate of each link in megabits a second, and `lastMbit` that of the last host's if it is another; without them they are as fast as the machine. Racks
   * are for links that have a rate. Throws BACKEND_UNAVAILABLE.
   */
  static async open(hosts: number, mbit?: number, racks?: ShapedRacks, lastMbit = mbit): Promise<Laboratory> {
    const byRack = racks ? [String(racks.perRack), `${racks.acrossMbit}mbit`] : ['', '']
    const shape = mbit === undefined ? [] : [`${mbit}mbit`, BURST, QUEUE, ...byRack, `${lastMbit}mbit`]
    const namespaces = ['--net', '--mount', '--uts', '--ipc', '--pid', '--fork', '--mount-proc', '--kill-child']
    const holder = spawn('unshare', [...namespaces, script('make'), String(hosts), ...shape], { stdio: ['pipe', 'pipe', 'pipe'] })
    let told = ''
    holder.stderr.on('data', (text: Buffer) => (told += text.toString()))
    holder.stdin.on('error', () => {})
    const ended = new Promise<never>((_, reject) => {
      const unavailable = (reason: string) => reject(new ArbalestError('BACKEND_UNAVAILABLE', `laboratory: ${reason}; ${FIX}`))
      holder.once('error', (error) => unavailable(error.message))
      holder.once('close', () => unavailable(told.trim().split('\n').at(-1) ?? 'unshare ended'))
    })
    ended.catch(() => {})
    await Promise.race([once(holder.stdout, 'data'), ended])
    const [first] = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8').split(' ')
    return new Laboratory(hosts, Number(first), holder)
  }

  /** Why none can be made here; undefined if it can. */
  static async reasonAgainst(): Promise<string | undefined> {
    if (process.getuid?.() !== 0) return 'network namespaces need root'
    try {
      await using _ = await Laboratory.open(1, 100)
      return undefined
    } catch (error) {
      if (error instanceof ArbalestError) return error.message
      throw error
    }
  }

  /** The address of a host, from 0. */
  address(host: number): string {
    return `10.9.0.${host + 1}`
  }

  /** Runs a program beside the bridge, from which all hosts can be reached, as a launcher needs it. */
  onSwitch(command: Command): Command {
    const inside = ['--target', String(this.#first), '--net', '--mount', '--uts', '--ipc', '--pid', '--', command.program]
    return { ...command, program: 'nsenter', args: [...inside, ...command.args], env: { ...command.env, TMPDIR: TEMPORARY } }
  }

  onHost(host: number, command: Command): Command {
    const args = ['netns', 'exec', nameOf(host), command.program, ...command.args]
    return this.onSwitch({ ...command, program: 'ip', args })
  }

  /** What the links have carried so far, by host. */
  async bytes(): Promise<readonly LinkBytes[]> {
    const all = Array.from({ length: this.hosts }, async (_, host) => {
      const { program, args } = this.onSwitch({ program: 'ip', args: ['-n', nameOf(host), '-s', '-j', 'link', 'show', 'dev', 'eth0'] })
      const { stdout } = await promisify(execFile)(program, args, { timeout: DEADLINE })
      const [{ stats64 }] = JSON.parse(stdout) as [{ stats64: Record<'tx' | 'rx', { bytes: number }> }]
      return { sent: stats64.tx.bytes, received: stats64.rx.bytes }
    })
    return Promise.all(all)
  }

  /** When it resolves, no process of the laboratory runs any more. */
  async close(): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return
    const closed = once(this.#holder, 'close')
    this.#holder.stdin?.end()
    await closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

const FIX = 'run it as root, where unshare, nsenter, ip and tc are installed (Debian: util-linux, iproute2) and the kernel has veth and tbf'

function nameOf(host: number): string {
  return `host${host + 1}`
}

function script(name: string): string {
  return fileURLToPath(new URL(`../../laboratory/${name}`, import.meta.url))
}
