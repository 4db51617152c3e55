/** The process of a job that a launcher has started: one of several that run the same program, on one host or on many. */
export interface LaunchedProcess {
  /** The launcher: `mpirun of Open MPI 5.0.11`, `mpiexec of MPICH`, `srun`. */
  readonly launcher: string
  /** The MPI library whose processes alone the launcher can join; undefined for Slurm, which knows several. */
  readonly library?: 'Open MPI' | 'MPICH'
  /** The version of that library, if the launcher tells it. */
  readonly version?: string
  readonly rank: number
  readonly size: number
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * What the launcher has told this process by environment variables; undefined if it was started alone. An `srun` without an MPI plug-in counts as well: it
 * starts as many processes as with one.
 */
export function launchedProcess(env: Environment = process.env): LaunchedProcess | undefined {
  const found = byOpenMpi(env) ?? byHydra(env) ?? bySlurm(env)
  return found && found.size > 1 ? found : undefined
}

/**
 * Whether what this process writes goes to a launcher, even if it has a terminal: Open MPI gives each process one of its own, and passes the text on to its output, which may be a
 * file. `arbalest launch` reads it line by line.
 */
export function isWithoutTerminal(env: Environment = process.env): boolean {
  return byOpenMpi(env) !== undefined || env['ARBALEST_LAUNCHED'] !== undefined
}

/**
 * Whether this process serves the others of its launcher as a hub, although it was started by the same command line: the variable ARBALEST_HUBS says how many of
 * the last processes do.
 */
export function isHubProcess(env: Environment = process.env): boolean {
  const launched = launchedProcess(env)
  const hubs = Number(env['ARBALEST_HUBS'] ?? 0)
  return launched !== undefined && launched.rank >= launched.size - hubs
}

/** The number of this process among those of its launcher on this machine; 0 where the launcher does not tell it. */
export function placeOnMachine(env: Environment = process.env): number {
  const names = ['OMPI_COMM_WORLD_LOCAL_RANK', 'MPI_LOCALRANKID', 'SLURM_LOCALID']
  const [place = 0] = names.flatMap((name) => (env[name] === undefined ? [] : [Number(env[name])])).filter(Number.isInteger)
  return place
}

function byOpenMpi(env: Environment): LaunchedProcess | undefined {
  const place = placeIn(env, 'OMPI_COMM_WORLD_RANK', 'OMPI_COMM_WORLD_SIZE')
  const version = env['OMPI_VERSION']
  const launcher = version === undefined ? 'mpirun of Open MPI' : `mpirun of Open MPI ${version}`
  return place && { launcher, library: 'Open MPI', ...(version !== undefined && { version }), ...place }
}

/** Hydra is the process manager of MPICH and of the libraries that are made from it. Slurm sets the same variables under `srun --mpi=pmi2`. */
function byHydra(env: Environment): LaunchedProcess | undefined {
  const place = env['SLURM_STEP_ID'] === undefined ? placeIn(env, 'PMI_RANK', 'PMI_SIZE') : undefined
  return place && { launcher: 'mpiexec of MPICH', library: 'MPICH', ...place }
}

function bySlurm(env: Environment): LaunchedProcess | undefined {
  const place = placeIn(env, 'SLURM_PROCID', 'SLURM_STEP_NUM_TASKS')
  return place && { launcher: 'srun', ...place }
}

function placeIn(env: Environment, rankName: string, sizeName: string): Pick<LaunchedProcess, 'rank' | 'size'> | undefined {
  const [rank, size] = [Number(env[rankName]), Number(env[sizeName])]
  return Number.isInteger(rank) && Number.isInteger(size) ? { rank, size } : undefined
}
