import type { ServedEvent } from '../arbalest.js'
import type { Laboratory } from '../hosts/laboratory.js'
import { node, onAllHosts, outputOf, type Mpi } from '../hosts/mpi.js'

export const HOSTS_OF_A_JOB = 2

/** Jobs that train at the same time, at the hub on the last host of a laboratory. */
export interface ServedJobs {
  /** The models of the jobs, which have two hosts each, and the host with which the first job begins. */
  readonly models: readonly string[]
  readonly first: number
  readonly seconds: number
  /** The number of wrong messages that the first job sends to the hub before each of its own. */
  readonly wrong?: number
}

export interface Served {
  /** Iterations a second of each job. */
  readonly rates: readonly number[]
  /** Messages of the first job that the hub refused. */
  readonly refused: number
}

export async function servedJobs(mpi: Mpi, laboratory: Laboratory, { models, first, seconds, wrong = 0 }: ServedJobs): Promise<Served> {
  const on = [...Array.from({ length: HOSTS_OF_A_JOB * models.length }, (_, host) => first + host), laboratory.hosts - 1]
  const command = node('../hub/tenants-child.js', [seconds, models.join(','), wrong])
  const started = onAllHosts(mpi, laboratory, command, {}, on)
  // Jobs end one by one, which the launcher allows where the loss of one leaves the others.
  const args = started.args.flatMap((word) => (word === mpi.mpirun ? [word, '--with-ft', 'ulfm'] : [word]))
  const output = await outputOf({ ...started, args }, seconds)
  const lines = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as ({ readonly rate: number } | ServedEvent) & { readonly job: number })
  const rates = models.map((_, number) => lines.flatMap((line) => (line.job === number && 'rate' in line ? line.rate : []))[0]!)
  const { nonces, lengths, keys } = lines.flatMap((line) => (line.job === 0 && 'refused' in line ? line.refused : []))[0] ?? NOTHING
  return { rates, refused: nonces + lengths + keys }
}

/** A hub of one job tells nothing. */
const NOTHING = { nonces: 0, lengths: 0, keys: 0 }
