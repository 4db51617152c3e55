import { builtMpi, type BuiltMpi } from '../engine/mpi.js'
import { ArbalestError } from '../errors.js'
import { launchedProcess, type LaunchedProcess } from './launcher.js'

/**
 * The process of a launcher that has started several, which train together; undefined if this one was started alone. Throws BACKEND_UNAVAILABLE if they
 * cannot join: each would train for itself.
 */
export function joiningProcess(launched = launchedProcess(), mpi: () => BuiltMpi | undefined = builtMpi): LaunchedProcess | undefined {
  const reason = launched && reasonAgainst(launched, mpi())
  if (reason === undefined) return launched
  throw new ArbalestError('BACKEND_UNAVAILABLE', `hosts: ${launched!.launcher} has started ${launched!.size} processes, and ${reason}`)
}

/** Why processes of a launcher cannot train together. */
function reasonAgainst(launched: LaunchedProcess, built: BuiltMpi | undefined): string | undefined {
  return built ? mismatchOf(launched, built) : 'MPI is not built on this host; run `npx arbalest setup --mpi` on every host'
}

/** Why the launcher does not suit the MPI library that was built; undefined if it may. */
export function mismatchOf({ library, version }: LaunchedProcess, { name, version: builtVersion, mpicc }: BuiltMpi): string | undefined {
  const isOfMpich = name !== 'Open MPI'
  const isOther = library !== undefined && (library === 'MPICH') !== isOfMpich
  // Releases of one minor version work together.
  const isOtherVersion = version !== undefined && minor(version) !== minor(builtVersion)
  if (!isOther && !isOtherVersion) return undefined
  return `the engine is built with ${name} ${builtVersion} (${mpicc}); use its launcher, or build again with the other one's compiler: ARBALEST_MPICC=/path/to/mpicc npx arbalest setup --mpi`
}

function minor(version: string): string {
  return version.split('.').slice(0, 2).join('.')
}
