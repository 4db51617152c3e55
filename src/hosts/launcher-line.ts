import { racksOf, type Host } from './hostfile.js'
import type { LauncherProgram } from './launcher-program.js'

/** What a launcher shall start. */
export interface Launch {
  /** With the number of processes of each. Slurm spreads them itself; if it is empty, over the whole allocation. */
  readonly hosts: readonly Host[]
  readonly processes: number
  readonly program: readonly string[]
  /** Where not all processes run one program: those that do, in the order of ranks. Open MPI alone. */
  readonly programs?: readonly { readonly processes: number; readonly program: readonly string[] }[]
  /** Whether the program is told the racks of the hosts of this start, by `--racks`. */
  readonly tellsRacks?: boolean
  /** Whether the program has racks of its own, which are of other hosts than those of this start: those that it is told replace them. */
  readonly replacesRacks?: boolean
  /** Whether the program, by its flags or its config, sums rack by rack. */
  readonly sumsByRack?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whether the others go on when a process is lost. */
  readonly shrinks?: boolean
  /** Whether the user is root. Open MPI then starts nothing unless it is told to. */
  readonly isRoot: boolean
}

/**
 * The launcher's command line. Processes are bound to no cores: each divides those of its host among its learners. They are placed host by host, in
 * the order of the hosts.
 */
export function launcherLine(launcher: LauncherProgram, launch: Launch): readonly string[] {
  const forms = { 'Open MPI': openMpiLine, MPICH: hydraLine, Slurm: srunLine }
  const line = [launcher.path, ...(launch.shrinks ? ['--with-ft', 'ulfm'] : [])]
  if (!launch.programs) return [...line, ...forms[launcher.kind](launch), ...programInRacks(launch)]
  const each = launch.programs.map(({ processes, program }) => [...openMpiProcesses({ ...launch, processes }), ...program])
  return [...line, ...openMpiPlacing(launch), ...each.flatMap((words, i) => (i === 0 ? words : [':', ...words]))]
}

/**
 * The program, told its racks. A start whose hosts are all in one rack, as one may be after a loss, or of which not all racks are known, cannot sum by rack: it is the sharded one there, of
 * which the last flag says so.
 */
function programInRacks({
  hosts,
  processes,
  program,
  tellsRacks = false,
  replacesRacks = false,
  sumsByRack = false
}: Launch): readonly string[] {
  if (!tellsRacks) return program
  const racks = racksOf(hosts)
  if (racks?.includes(';')) return [...program, '--racks', racks]
  const one = replacesRacks ? ['--racks', [...Array(processes).keys()].join(',')] : []
  return [...program, ...one, ...(sumsByRack ? ['--exchange', 'sharded'] : [])]
}

/** Whether processes of this launcher can go on when one is lost: Open MPI has ULFM from version 5 on. */
export function canShrink({ kind, version }: LauncherProgram): boolean {
  return kind === 'Open MPI' && parseInt(version, 10) >= 5
}

/** Variables that every process shall have. Launchers pass on what they need themselves; Hydra and Slurm pass on everything. */
function passedOn(env: Launch['env']): readonly string[] {
  return Object.keys(env).filter((name) => /^(?:ARBALEST_|(?:NODE_OPTIONS|NO_COLOR|FORCE_COLOR)$)/.test(name) && env[name] !== undefined)
}

function openMpiLine(launch: Launch): readonly string[] {
  return [...openMpiPlacing(launch), ...openMpiProcesses(launch)]
}

/** What Open MPI takes once, for all programs. */
function openMpiPlacing({ isRoot }: Launch): readonly string[] {
  return ['--bind-to', 'none', '--map-by', 'slot', ...(isRoot ? ['--allow-run-as-root'] : [])]
}

/** What it takes for each program. */
function openMpiProcesses({ hosts, processes, env }: Launch): readonly string[] {
  return ['-n', String(processes), '--host', listOf(hosts), ...passedOn(env).flatMap((name) => ['-x', name])]
}

function hydraLine({ hosts, processes }: Launch): readonly string[] {
  return ['-n', String(processes), '-hosts', listOf(hosts), '-bind-to', 'none']
}

function srunLine({ hosts, processes, env }: Launch): readonly string[] {
  const plugin = env['SLURM_MPI_TYPE'] === undefined ? ['--mpi=pmix'] : []
  const some = hosts.length === 0 ? [] : [`--nodelist=${hosts.map(({ name }) => name).join(',')}`]
  return [`--ntasks=${processes}`, ...some, ...plugin, '--cpu-bind=none', '--kill-on-bad-exit=1', '--unbuffered']
}

function listOf(hosts: readonly Host[]): string {
  return hosts.map(({ name, slots }) => `${name}:${slots}`).join(',')
}

/** How the processes are spread, for people: `4 processes on node1, node2`. */
export function spread({ hosts, processes }: Pick<Launch, 'hosts' | 'processes'>): string {
  const count = processes === 1 ? '1 process' : `${processes} processes`
  return hosts.length === 0 ? count : `${count} on ${hosts.map(({ name }) => name).join(', ')}`
}

/** A command line that a shell reads as the same words. */
export function quoted(words: readonly string[]): string {
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ')
}
