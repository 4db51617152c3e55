import { loadavg } from 'node:os'
import type { BenchOptions } from '../bench.js'
import { ArbalestError } from '../errors.js'
import type { HubResult } from '../hosts/hub-result.js'
import { Laboratory } from '../hosts/laboratory.js'
import { openMpi } from '../hosts/mpi.js'
import { comparison } from '../pairs.js'
import { median } from '../statistics.js'
import { servedJobs } from './served-jobs.js'
import { HOSTS, MBIT, MODELS, TIMES } from './tenants.js'

/** Wrong messages before each right one: more than the hub's thread has time for. */
const WRONG = 200
/** Of a flood, in messages a second. */
const LEAST = 1000

/** The pace of a job at a hub while another one there floods the hub with wrong messages, beside its pace while the other one only trains. */
export async function flood(options: BenchOptions): Promise<readonly HubResult[]> {
  const mpi = openMpi()
  await using laboratory = await Laboratory.open(HOSTS, MBIT, undefined, TIMES * MBIT)
  const seconds = Math.max(options.seconds, 3)
  const [flooded, calm, refused]: [number[], number[], number[]] = [[], [], []]
  for (let pair = 0; pair < options.pairs; pair++) {
    for (const [wrong, of] of [
      [WRONG, flooded],
      [0, calm]
    ] as const) {
      const served = await servedJobs(mpi, laboratory, { models: MODELS, first: 0, seconds, wrong })
      if (wrong > 0 && served.refused < LEAST * seconds)
        throw new ArbalestError('INTERNAL', `flood: the hub has refused ${served.refused} messages in ${seconds} s: it was not flooded`)
      of.push(served.rates[1]!)
      if (wrong > 0) refused.push(served.refused / seconds)
    }
  }
  const row: HubResult = {
    bench: 'hub',
    case: 'tenants flood',
    peer: 'calm',
    unit: 'iterations/s',
    ...comparison(flooded, calm),
    models: MODELS.join('+'),
    refusedPerSecond: median(refused),
    mbit: MBIT,
    mpi: mpi.name,
    load: loadavg()[0]!
  }
  return [row]
}
