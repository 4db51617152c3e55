import { loadavg } from 'node:os'
import type { BenchOptions } from '../bench.js'
import type { HubResult } from '../hosts/hub-result.js'
import { Laboratory } from '../hosts/laboratory.js'
import { node, onAllHosts, openMpi, outputOf } from '../hosts/mpi.js'
import { jainIndex } from '../internals.js'
import { median, spread } from '../statistics.js'

const MODELS = ['mlp', 'lenet']
const HOSTS_OF_A_JOB = 2
/** Of the hosts' links in megabits a second; the hub's is four times as fast. */
const MBIT = 200
const TIMES = 4

/** Two jobs that share a hub, beside each of them alone with it: how evenly they are slowed down, by Jain's index. */
export async function tenants(options: BenchOptions): Promise<readonly HubResult[]> {
  const mpi = openMpi()
  const hosts = MODELS.length * HOSTS_OF_A_JOB + 1
  await using laboratory = await Laboratory.open(hosts, MBIT, undefined, TIMES * MBIT)
  const seconds = Math.max(options.seconds, 3)
  /** Iterations a second of each of these jobs. The last host is their hub. */
  const rates = async (models: readonly string[], first: number): Promise<readonly number[]> => {
    const on = [...Array.from({ length: HOSTS_OF_A_JOB * models.length }, (_, host) => first + host), hosts - 1]
    const command = node('../hub/tenants-child.js', [seconds, models.join(',')])
    const started = onAllHosts(mpi, laboratory, command, {}, on)
    // Jobs end one by one, which the launcher allows where the loss of one leaves the others.
    const args = started.args.flatMap((word) => (word === mpi.mpirun ? [word, '--with-ft', 'ulfm'] : [word]))
    const output = await outputOf({ ...started, args }, seconds)
    const told = output.split('\n').filter((line) => line.startsWith('{'))
    const found = told.map((line) => JSON.parse(line) as { readonly job: number; readonly rate: number })
    return models.map((_, number) => found.find(({ job }) => job === number)!.rate)
  }
  const slowdowns: (readonly number[])[] = []
  for (let pair = 0; pair < options.pairs; pair++) {
    const together = await rates(MODELS, 0)
    const alone: number[] = []
    for (const [i, model] of MODELS.entries()) alone.push((await rates([model], HOSTS_OF_A_JOB * i))[0]!)
    slowdowns.push(alone.map((rate, i) => rate / together[i]!))
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
