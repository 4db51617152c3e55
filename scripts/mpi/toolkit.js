import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The folder that `npm run setup:mpi` fills. */
export const MPI_FOLDER = join(ROOT, '.mpi')

/** Macros of mpi.h by which a library tells its name and version. Those that are made from MPICH have its macros beside their own. */
const LIBRARIES = [
  { name: 'Open MPI', version: ['OMPI_MAJOR_VERSION', 'OMPI_MINOR_VERSION', 'OMPI_RELEASE_VERSION'] },
  { name: 'Intel MPI', version: ['I_MPI_VERSION'] },
  { name: 'MVAPICH', version: ['MVAPICH2_VERSION'] },
  { name: 'MVAPICH', version: ['MVAPICH_VERSION'] },
  { name: 'MPICH', version: ['MPICH_VERSION'] }
]

/**
 * The C compiler of an MPI library: ARBALEST_MPICC, the `mpicc` on the PATH, that of `.mpi`, in this order; with `own` only the last. `missing` is the
 * reason if there is none; nothing is thrown.
 */
export function findMpi({ own = false } = {}) {
  const ownCompiler = join(MPI_FOLDER, 'bin', 'mpicc')
  const given = own ? undefined : process.env.ARBALEST_MPICC
  const mpicc = (given && pathOf(given)) || (!own && !given && pathOf('mpicc')) || (!given && existsSync(ownCompiler) && ownCompiler)
  if (given && !mpicc) return { missing: `${given}: no such program` }
  if (!mpicc) return { missing: 'mpicc, the C compiler of an MPI library' }
  const { status, stdout, stderr, error } = spawnSync(mpicc, ['-E', '-dM', '-include', 'mpi.h', '-x', 'c', '/dev/null'], {
    encoding: 'utf8'
  })
  if (status !== 0) return { missing: `${mpicc}: ${error?.message ?? firstError(stderr) ?? `status ${status}`}` }
  return { mpicc, ...identityOf(stdout) }
}

/** The wheels, each with its version and its hash. */
export function wheels() {
  return JSON.parse(readFileSync(new URL('./wheels.json', import.meta.url), 'utf8'))
}

/** A name without a slash is looked for on the PATH: the launcher is looked for beside the compiler. */
function pathOf(program) {
  if (program.includes('/')) return existsSync(program) ? program : undefined
  const folder = (process.env.PATH ?? '').split(delimiter).find((each) => each && existsSync(join(each, program)))
  return folder && join(folder, program)
}

function identityOf(macros) {
  const valueOf = (macro) => new RegExp(`^#define ${macro} "?([^"\\n]*)"?$`, 'm').exec(macros)?.[1]
  for (const { name, version } of LIBRARIES) {
    const parts = version.map(valueOf)
    if (parts.every((part) => part !== undefined)) return { name, version: parts.join('.') }
  }
  return { name: 'MPI', version: [valueOf('MPI_VERSION'), valueOf('MPI_SUBVERSION')].join('.') }
}

function firstError(stderr) {
  const lines = stderr.trim().split('\n')
  return lines.find((line) => line.includes('error')) ?? lines[0]
}
