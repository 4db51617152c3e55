import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ArbalestError } from '../errors.js'
import { builtMpi, launcherOf } from '../internals.js'
import type { Command } from '../side.js'
import { AGENT, type Laboratory } from './laboratory.js'

/** Seconds after which a launch has failed, beside those that it computes. */
const LAUNCH = 60

/** The MPI with which the engine was built: its C compiler and its launcher. */
export interface Mpi {
  readonly name: string
  readonly mpicc: string
  readonly mpirun: string
}

/** Throws BACKEND_UNAVAILABLE if MPI was not built, or is another than Open MPI, whose parameters the laboratory sets. */
export function openMpi(): Mpi {
  const built = builtMpi()
  const launcher = built && launcherOf(built, process.env)
  if (built?.name === 'Open MPI' && launcher) return { name: `${built.name} ${built.version}`, mpicc: built.mpicc, mpirun: launcher.path }
  throw new ArbalestError(
    'BACKEND_UNAVAILABLE',
    `hosts: received ${built ? built.name : 'no MPI'}; the bench starts its hosts by Open MPI: npx arbalest setup --mpi`
  )
}

/** Parameters of Open MPI by name. */
export type Parameters = Readonly<Record<string, string>>

/** A process on each host, joined by TCP over the laboratory's links and by nothing else. `order` has the hosts by rank; their own order if omitted. */
export function onAllHosts(
  mpi: Mpi,
  laboratory: Laboratory,
  command: Command,
  parameters: Parameters = {},
  order: readonly number[] = Array.from({ length: laboratory.hosts }, (_, host) => host)
): Command {
  const addresses = order.map((host) => laboratory.address(host))
  const own = { btl_tcp_if_include: 'eth0', oob_tcp_if_include: '10.9.0.0/24', orte_keep_fqdn_hostnames: '1', ...AGENTS }
  return laboratory.onSwitch(launch(mpi, addresses, command, { ...own, ...parameters }))
}

/** Some processes on this machine, joined by TCP over its loopback interface and by nothing else. */
export function onLoopback(mpi: Mpi, processes: number, command: Command): Command {
  return launch(mpi, [`localhost:${processes}`], command, { btl_tcp_if_include: 'lo' }, processes)
}

/** Open MPI 4 calls it rsh, 5 ssh. */
const AGENTS = { plm_rsh_agent: AGENT, plm_rsh_no_tree_spawn: '1', plm_ssh_agent: AGENT, plm_ssh_no_tree_spawn: '1' }

function launch({ mpirun }: Mpi, hosts: readonly string[], command: Command, parameters: Parameters, processes = hosts.length): Command {
  const env: Record<string, string> = { OMPI_ALLOW_RUN_AS_ROOT: '1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1' }
  // In the environment, where the releases of Open MPI look for them under two names.
  for (const [name, value] of Object.entries({ btl: 'tcp,self', ...parameters })) {
    for (const prefix of ['OMPI', 'PRTE']) env[`${prefix}_MCA_${name}`] = value
  }
  const args = ['-n', String(processes), '--host', hosts.join(','), '--bind-to', 'none', command.program, ...command.args]
  return { program: mpirun, args, env: { ...env, ...command.env } }
}

/** The output of a command. `seconds` is what it computes for. Throws BACKEND_UNAVAILABLE with its last words if it fails. */
export async function outputOf({ program, args, env }: Command, seconds: number): Promise<string> {
  try {
    const options = { env: { ...process.env, ...env }, timeout: (LAUNCH + 5 * seconds) * 1000, killSignal: 'SIGKILL' } as const
    return (await promisify(execFile)(program, args, options)).stdout
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string }
    throw new ArbalestError('BACKEND_UNAVAILABLE', `${program} ${args.join(' ')}: ${stderr.trim().slice(-600) || message}`)
  }
}

/** The same for a command whose last line is JSON. */
export async function answerOf<Answer>(command: Command, seconds: number): Promise<Answer> {
  return JSON.parse((await outputOf(command, seconds)).trim().split('\n').at(-1)!) as Answer
}

/** Compiles a peer of one file with the user's MPI, or another compiler. */
export async function compiled({ mpicc }: Pick<Mpi, 'mpicc'>, source: string, flags: readonly string[] = ['-O2']): Promise<string> {
  const program = join(await mkdtemp(join(tmpdir(), 'arbalest-bench-')), 'peer')
  const file = fileURLToPath(new URL(`../../peers/${source}`, import.meta.url))
  await promisify(execFile)(mpicc, [...flags, '-Wall', '-o', program, file])
  return program
}

/** A program of this bench in Node.js. */
export function node(file: string, args: readonly (string | number)[]): Command {
  return { program: process.execPath, args: [fileURLToPath(new URL(file, import.meta.url)), ...args.map(String)] }
}
