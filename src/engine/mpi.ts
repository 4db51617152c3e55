import { readFileSync } from 'node:fs'
import { addon, libraryFile } from './addon.js'

/** The MPI library with which libarbalest-mpi.so was built, as the build has written it beside the library. */
export interface BuiltMpi {
  /** `Open MPI`, `MPICH`, `Intel MPI`, `MVAPICH`. */
  readonly name: string
  readonly version: string
  /** Its C compiler; its launcher is looked for beside it. */
  readonly mpicc: string
}

/** What the library itself says. */
export interface MpiReport {
  readonly name: string
  readonly version: string
  /** The library that is opened at run time, in its own words. */
  readonly library: string
  /** Whether it can go on after the loss of a process. */
  readonly ulfm: boolean
}

/** undefined if MPI was not built. Opens no library. */
export function builtMpi(): BuiltMpi | undefined {
  try {
    return JSON.parse(readFileSync(libraryFile('libarbalest-mpi.json'), 'utf8')) as BuiltMpi
  } catch {
    return undefined
  }
}

/** Opens the MPI library without starting MPI. Returns the reason if it cannot be opened. Throws ENGINE_MISSING. */
export function describeMpi(): MpiReport | string {
  const { available, detail } = addon().describeMpi()
  return available ? (JSON.parse(detail) as MpiReport) : detail
}
