import { loadavg } from 'node:os'
import type { BenchOptions } from '../bench.js'
import type { HubResult } from '../hosts/hub-result.js'
import { Laboratory } from '../hosts/laboratory.js'
import { openMpi } from '../hosts/mpi.js'
import { jainIndex } from '../internals.js'
import { median, spread } from '../statistics.js'
import { HOSTS_OF_A_JOB, servedJobs } from './served-jobs.js'

export const MODELS = ['mlp', 'lenet']
/** Those that train, and their hub. */
export const HOSTS = MODELS.length * HOSTS_OF_A_JOB + 1
/** Of the hosts' links in megabits a second; the hub's is four times as fast. */
export const MBIT = 200
export const TIMES = 4

/** Two jobs that share a hub, beside each of them alone with it: how evenly they are slowed down, by Jain's index. */
export async function tenants(options: BenchOptions): Promise<readonly HubResult[]> {
  const mpi = openMpi()
  await using laboratory = await Laboratory.open(HOSTS, MBIT, undefined, TIMES * MBIT)
  const seconds = Math.max(options.seconds, 3)
  const slowdowns: (readonly number[])[] = []
  for (let pair = 0; pair < options.pairs; pair++) {
    const together = await servedJobs(mpi, laboratory, { models: MODELS, first: 0, seconds })
    const alone: number[] = []
    for (const [i, model] of MODELS.entries()) {
      const { rates } = await servedJobs(mpi, laboratory, { models: [model], first: HOSTS_OF_A_JOB * i, seconds })
      alone.push(rates[0]!)
    }
    slowdowns.push(alone.map((rate, i) => rate / together.rates[i]!))
  }
  const found = slowdowns.map(jainIndex)
  const row: HubResult = {
    bench: 'hub',
    case: 'hub tenants',
    peer: 'solo',
    unit: 'Jain index of slowdowns',
    value: median(found),
    peerValue: 1,
    ratio: median(found),
    n: found.length,
    ...spread(found),
    models: MODELS.join('+'),
    slowdowns: MODELS.map((_, i) => median(slowdowns.map((each) => each[i]!))),
    mbit: MBIT,
    mpi: mpi.name,
    load: loadavg()[0]!
  }
  return [row]
}
