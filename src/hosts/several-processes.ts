import { builtMpi, type BuiltMpi } from '../engine/mpi.js'
import { ArbalestError } from '../errors.js'
import { launchedProcess, type LaunchedProcess } from './launcher.js'

/**
 * Refuses to train if a launcher has started this process as one of several: each would train for itself. Throws BACKEND_UNAVAILABLE.
 */
export function refuseSeveralProcesses(launched = launchedProcess(), mpi: () => BuiltMpi | undefined = builtMpi): void {
  if (launched) throw unavailable(launched, reasonOf(launched, mpi()))
}

/** Why processes of a launcher cannot train together. */
function reasonOf(launched: LaunchedProcess, built: BuiltMpi | undefined): string {
  if (built === undefined) return 'MPI is not built on this host; run `npx arbalest setup --mpi` on every host'
  const mismatch = mismatchOf(launched, built)
  if (mismatch !== undefined) return mismatch
  return 'training over several processes is not part of this version yet; start one process on each host, each with a run of its own'
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

function unavailable({ launcher, size }: LaunchedProcess, reason: string): ArbalestError {
  return new ArbalestError('BACKEND_UNAVAILABLE', `hosts: ${launcher} has started ${size} processes, and ${reason}`)
}
