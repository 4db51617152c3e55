import { ArbalestError, type ErrorCode } from '../../errors.js'
import { placed, slotsOf, type Host } from '../../hosts/hostfile.js'
import { launcherLine, spread, type Launch } from '../../hosts/launcher-line.js'
import type { LauncherProgram } from '../../hosts/launcher-program.js'
import { EXIT, type ExitCode } from '../exit.js'
import type { OutputLoss } from '../output-loss.js'
import { StopOnSignal } from '../stop-on-signal.js'
import { answeringHosts } from './answering-hosts.js'
import { LauncherProcess, type LauncherEnd } from './launcher-process.js'

export interface AgentOptions {
  readonly launcher: LauncherProgram
  /** The first start. */
  readonly launch: Launch
  /** All that may take processes. */
  readonly allHosts: readonly Host[]
  /** Whether the first start has racks of its own, which other hosts are told anew. */
  readonly replacesRacks: boolean
  /** How many of the processes are hubs. */
  readonly hubs: number
  /** How many times the run may be started again. */
  readonly restarts: number
  readonly hostsMin: number
  /** Whether a run may fail without an error, because its model cannot overfit: its first process has told that. */
  readonly overfits: boolean
  readonly json: boolean
  readonly raw: boolean
  readonly output: OutputLoss
}

/** Errors after which the run goes on from its newest checkpoint: what was lost may be there again, or other hosts take its place. */
const RESTARTED: ReadonlySet<string> = new Set<ErrorCode>(['HOST_LOST', 'DEVICE_FAILED', 'LEARNER_FAILED'])

/** Exit codes are passed on as they are; those that are none of ours mean that a run has failed. */
const EXIT_CODES: ReadonlySet<number> = new Set(Object.values(EXIT))

/** Starts a run on several hosts, watches it, and starts it again on the hosts that are left. */
export class Agent {
  readonly #options: AgentOptions
  #running: LauncherProcess | undefined

  constructor(options: AgentOptions) {
    this.#options = options
  }

  /** Throws HOST_LOST if a process was lost and the run is not started again, and BACKEND_UNAVAILABLE if the launcher does not start. */
  async run(): Promise<ExitCode> {
    using signals = new StopOnSignal(() => this.#running?.stop(), { leave: () => this.#running?.terminate() })
    let { launch } = this.#options
    let byReader: ExitCode | undefined
    // As for `arbalest train`: a reader that closes the pipe wants no more training, and a full disk is an accident.
    this.#options.output.continueAfterLoss((exitCode) => {
      if (exitCode !== EXIT.brokenPipe) return
      byReader = exitCode
      this.#running?.stop()
    })
    /** The exit code if the run was asked to stop: by a signal, or by its reader. */
    const asked = () => signals.exitCode ?? byReader
    for (let restarts = 0; ; restarts++) {
      const end = await this.#once(launch)
      if (asked() !== undefined) return stopped(end, asked()!)
      if (end.status === 0) return EXIT.done
      if (end.lacksCheckpoint || (this.#options.overfits && hasFailedQuietly(end))) return EXIT.failed
      const cause = causeOf(end, launch)
      if (restarts >= this.#options.restarts || !isRestarted(end)) return this.#failed(end, cause)
      launch = await this.#next(launch, cause)
      if (asked() !== undefined) return stopped(end, asked()!)
      this.#tell(cause, restarts + 1, launch)
    }
  }

  #once(launch: Launch): Promise<LauncherEnd> {
    const { launcher, json, raw } = this.#options
    this.#running = new LauncherProcess(launcher.kind, launcherLine(launcher, launch), launch.env, { json, raw })
    return this.#running.ended
  }

  /** The start on the hosts that answer. */
  async #next(launch: Launch, cause: string): Promise<Launch> {
    const { launch: first, allHosts, replacesRacks, hubs, hostsMin } = this.#options
    // Slurm's allocation, or this machine.
    if (allHosts.length < 2) return launch
    const left = await this.#answering(launch)
    if (left.length < Math.max(1, hostsMin)) {
      const names = left.map(({ name }) => name).join(', ') || 'none'
      throw lost(`${cause}; of ${allHosts.length} hosts ${left.length} answer (${names}), and --hosts-min is ${hostsMin}`)
    }
    const processes = Math.min(first.processes, slotsOf(left))
    if (processes <= hubs) throw lost(`${cause}; the hosts that answer take ${processes} processes, and --hubs is ${hubs}`)
    const next = { ...first, hosts: placed(processes, left), processes }
    const isElsewhere = spread(next) !== spread(first)
    return replacesRacks && isElsewhere ? { ...next, tellsRacks: true, replacesRacks } : next
  }

  #answering({ programs: _, ...launch }: Launch): Promise<readonly Host[]> {
    const { launcher, allHosts } = this.#options
    const lineFor = ({ name }: Host) => launcherLine(launcher, { ...launch, hosts: [{ name, slots: 1 }], processes: 1, program: ['true'] })
    return answeringHosts(allHosts, lineFor, launch.env)
  }

  #tell(cause: string, restart: number, launch: Launch): void {
    const { json, restarts } = this.#options
    const { processes, hosts } = launch
    if (json) process.stdout.write(`${JSON.stringify({ event: 'restarted', restart, restarts, cause, processes, hosts })}\n`)
    process.stderr.write(`${cause}: restart ${restart} of ${restarts} from the newest checkpoint, ${spread(launch)}\n`)
  }

  /** A process has told its own error already. Hosts on which no process starts are named here. */
  async #failed({ status, codes, failed }: LauncherEnd, cause: string): Promise<ExitCode> {
    show(failed)
    if (codes.size === 0) {
      const answering = await this.#answering(this.#options.launch)
      const silent = this.#options.allHosts.filter((host) => !answering.includes(host)).map(({ name }) => name)
      if (silent.length === 0) throw lost(cause)
      const fix = 'check the names in the hostfile, and that ssh reaches these hosts without a password'
      throw new ArbalestError('HOST_LOST', `hosts: received ${silent.join(', ')}, where the launcher starts no process; ${fix}`)
    }
    return EXIT_CODES.has(status) ? (status as ExitCode) : EXIT.failed
  }
}

/** What a launch ends with that was asked to stop. Without a failure the launcher's own status only tells of the signal. */
function stopped({ status, codes, failed, lacksCheckpoint }: LauncherEnd, bySignal: ExitCode): ExitCode {
  show(failed)
  const hasFailed = failed !== undefined || codes.size > 0 || lacksCheckpoint
  return status !== 0 && hasFailed ? EXIT.failed : bySignal
}

function hasFailedQuietly({ status, codes, lost: process }: LauncherEnd): boolean {
  return status === EXIT.failed && codes.size === 0 && process === undefined
}

function show(failed: string | undefined): void {
  if (failed !== undefined) process.stdout.write(`${failed}\n`)
}

/** Whether another start may end better: not after wrong options, missing data, or a loss that is not finite. */
function isRestarted({ status, codes, lost: process }: LauncherEnd): boolean {
  return process !== undefined || [...codes].some((code) => RESTARTED.has(code)) || (codes.size === 0 && status > 128)
}

function causeOf({ status, codes, lost: process, reason }: LauncherEnd, { processes }: Launch): string {
  if (process) {
    const which = process.rank === undefined ? 'a process' : `rank ${process.rank} of ${processes}`
    const where = process.host === undefined ? '' : ` on ${process.host}`
    const how = process.signal ?? process.error
    return `hosts: ${which}${where} was lost${how === undefined ? '' : ` (${how})`}`
  }
  if (codes.size > 0) return `hosts: the run failed with ${[...codes].join(', ')}`
  return `hosts: the launcher ended with status ${status}${reason === undefined ? '' : ` (${reason})`}`
}

function lost(message: string): ArbalestError {
  return new ArbalestError('HOST_LOST', `${message}; see its messages with --stack`)
}
