import { cpus, networkInterfaces } from 'node:os'
import { usableCores } from '../engine/machine.js'
import { builtMpi, describeMpi, type BuiltMpi, type MpiReport } from '../engine/mpi.js'
import { launcherOf } from '../hosts/launcher-program.js'
import type { Check } from './check.js'

/** Whether runs over several hosts can start here. A run on one host needs none of it. */
export function hostChecks(): readonly Check[] {
  const built = builtMpi()
  const bound = binding()
  if (!built) return [{ name: 'MPI', status: 'absent', detail: 'not built; needed for several hosts', fix: SET_UP }, ...bound]
  return [mpi(built), launcher(built), interfaces(), ...bound]
}

const SET_UP = 'run `npx arbalest setup --mpi`'

function mpi({ name, version, mpicc }: BuiltMpi): Check {
  const found = report()
  if (typeof found === 'string') return { name: 'MPI', status: 'absent', detail: `${name} ${version}: ${found}`, fix: SET_UP }
  const ulfm = found.ulfm ? 'with ULFM' : 'without ULFM: the loss of a host ends the run'
  return { name: 'MPI', status: 'present', detail: `${name} ${version} (${mpicc}), opens ${found.library}, ${ulfm}` }
}

function report(): MpiReport | string {
  try {
    return describeMpi()
  } catch {
    return 'the native engine is not built'
  }
}

function launcher(built: BuiltMpi): Check {
  const found = launcherOf(built, process.env)
  if (!found) {
    const detail = `none of ${built.name} ${built.version} beside ${built.mpicc} or on the PATH`
    return { name: 'launcher', status: 'absent', detail, fix: 'install it (Debian: openmpi-bin, or mpich)' }
  }
  const isRefused = found.kind === 'Open MPI' && process.getuid?.() === 0
  const root = isRefused ? '; as root it needs --allow-run-as-root, which `arbalest launch` adds' : ''
  return { name: 'launcher', status: 'present', detail: `${found.path} (${found.version})${root}` }
}

/** The networks by which other hosts may be reached. */
function interfaces(): Check {
  const name = 'interfaces'
  const found = Object.entries(networkInterfaces()).flatMap(([device, addresses = []]) =>
    addresses.filter(({ internal, family }) => !internal && family === 'IPv4').map(({ cidr, address }) => `${device} ${cidr ?? address}`)
  )
  return found.length === 0
    ? { name, status: 'absent', detail: 'no network but the loopback: processes of this host alone can meet' }
    : { name, status: 'present', detail: found.join(', ') }
}

/** Launchers bind a process to a core unless they are told otherwise: then its learners take turns on that core. */
function binding(): readonly Check[] {
  const [usable, all] = [usableCores(), cpus().length]
  if (usable > 1 || all <= 1) return []
  const fix = 'with mpirun use --bind-to none (`arbalest launch` does), with srun --cpu-bind=none'
  return [{ name: 'binding', status: 'absent', detail: `this process is bound to 1 of ${all} cores`, fix }]
}
