import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { DefineCommand } from './command.js'
import { EXIT, type ExitCode } from './exit.js'

const SCRIPTS = new URL('../../../scripts/', import.meta.url)

const ENGINE = [['bash', 'setup']] as const
const CUDA = [
  [process.execPath, 'setup-cuda.js'],
  [process.execPath, 'build-cuda.js']
] as const
const MPI = [
  [process.execPath, 'setup-mpi.js'],
  [process.execPath, 'build-mpi.js']
] as const

interface SetupFlags {
  readonly cuda?: boolean
  readonly mpi?: boolean
}

export const defineSetup: DefineCommand = (command, { finish }) => {
  command
    .option('--cuda', 'also build the CUDA library for NVIDIA GPUs, and install its compiler')
    .option('--mpi', 'also build the library for several hosts with your mpicc (ARBALEST_MPICC, PATH), or install Open MPI')
    .action((flags: SetupFlags) => finish(runSetup(flags)))
}

/** `arbalest setup`: does what `npm install` does, if npm runs no scripts of packages or a compiler was missing then. The scripts report errors. */
function runSetup({ cuda = false, mpi = false }: SetupFlags): ExitCode {
  for (const [program, script] of [...ENGINE, ...(cuda ? CUDA : []), ...(mpi ? MPI : [])]) {
    const { status, error } = spawnSync(program, [fileURLToPath(new URL(script, SCRIPTS))], { stdio: 'inherit' })
    if (error) process.stderr.write(`SETUP_FAILED: ${program}: ${error.message}; install it, then run this again\n`)
    if (status !== 0) return EXIT.failed
  }
  return EXIT.done
}
