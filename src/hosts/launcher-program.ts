import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import type { BuiltMpi } from '../engine/mpi.js'
import { ArbalestError } from '../errors.js'

/** A program that starts processes on hosts. */
export interface LauncherProgram {
  readonly path: string
  readonly kind: 'Open MPI' | 'MPICH' | 'Slurm'
  readonly version: string
}

const LAUNCHERS = ['mpirun', 'mpiexec'] as const

/** A launcher that does not answer is none: some wait for a daemon. */
const ANSWER_MS = 5_000

/** What `path --version` says it is; undefined if it is no launcher that we know. */
export function identified(path: string): LauncherProgram | undefined {
  const { stdout, status } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: ANSWER_MS })
  if (status !== 0) return undefined
  const forms = [
    ['Open MPI', /\((?:Open MPI|OpenRTE)\) (\S+)/],
    ['MPICH', /HYDRA[^]*?Version:\s*(\S+)/],
    ['MPICH', /Intel\(R\) MPI Library[^]*?Version (\S+)/],
    ['Slurm', /^slurm\S* (\S+)/]
  ] as const
  for (const [kind, form] of forms) {
    const version = form.exec(stdout)?.[1]
    if (version !== undefined) return { path, kind, version }
  }
  return undefined
}

/**
 * The launcher with this name or path. If none is given: `srun` in a Slurm allocation, otherwise that of the MPI that was built. Throws
 * BACKEND_UNAVAILABLE if there is none, or if it is that of another MPI.
 */
export function launcherFor(
  built: BuiltMpi,
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>>
): LauncherProgram {
  if (given !== undefined) return checked(built, given, onPath(given, env))
  const srun = env['SLURM_JOB_ID'] === undefined ? undefined : onPath('srun', env)
  return (srun !== undefined && identified(srun)) || launcherOf(built, env) || missing(built)
}

/** The launcher beside the compiler with which MPI was built, or on the PATH. Where several libraries are installed their programs have suffixes. */
export function launcherOf(built: BuiltMpi, env: Readonly<Record<string, string | undefined>>): LauncherProgram | undefined {
  const folder = dirname(built.mpicc)
  const suffix = /^mpicc(\..+)$/.exec(basename(built.mpicc))?.[1]
  const suffixes = [...(suffix === undefined ? [] : [suffix]), '', '.openmpi', '.mpich', '.hydra']
  const beside = suffixes.flatMap((each) => LAUNCHERS.map((name) => join(folder, name + each)))
  const elsewhere = LAUNCHERS.flatMap((name) => onPath(name, env) ?? [])
  for (const path of [...beside.filter(isProgram), ...elsewhere]) {
    const found = identified(path)
    if (found && suits(found, built)) return found
  }
  return undefined
}

/** Whether a launcher starts processes that can join by the library that was built. Slurm knows several libraries. */
function suits({ kind, version }: LauncherProgram, { name, version: builtVersion }: BuiltMpi): boolean {
  if (kind === 'Slurm') return true
  if (kind === 'MPICH') return name !== 'Open MPI'
  const minor = (text: string) => text.split('.').slice(0, 2).join('.')
  return name === 'Open MPI' && minor(version) === minor(builtVersion)
}

function checked(built: BuiltMpi, given: string, path: string | undefined): LauncherProgram {
  const found = path === undefined ? undefined : identified(path)
  if (!found)
    throw unavailable(
      `--launcher: received ${JSON.stringify(given)}, which is no mpirun, mpiexec or srun that answers to --version; leave it out`
    )
  if (suits(found, built)) return found
  throw unavailable(
    `--launcher: received ${JSON.stringify(given)}, which is of ${found.kind} ${found.version}, but the engine is built with ${built.name} ${built.version} (${built.mpicc}); leave it out, or build again: ARBALEST_MPICC=/path/to/mpicc npx arbalest setup --mpi`
  )
}

function missing(built: BuiltMpi): never {
  throw unavailable(
    `launch: there is no launcher of ${built.name} ${built.version} beside ${built.mpicc} or on the PATH; install it (Debian: openmpi-bin, or mpich), or name one with --launcher`
  )
}

function unavailable(message: string): ArbalestError {
  return new ArbalestError('BACKEND_UNAVAILABLE', message)
}

function onPath(name: string, { PATH = '' }: Readonly<Record<string, string | undefined>>): string | undefined {
  if (name.includes('/')) return isProgram(name) ? name : undefined
  return PATH.split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
