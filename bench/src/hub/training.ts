import { loadavg } from 'node:os'
import { predict } from '../arbalest.js'
import type { BenchOptions } from '../bench.js'
import type { HubResult } from '../hosts/hub-result.js'
import { Laboratory } from '../hosts/laboratory.js'
import { answerOf, node, onAllHosts, openMpi } from '../hosts/mpi.js'
import { comparison } from '../pairs.js'
import { median } from '../statistics.js'
import { ddpSteps } from '../ddp-steps.js'
import { HOSTS, MBIT, TIMES } from './central.js'
import { pythonWithTorch } from './gloo.js'

export const TRAINED = ['lenet', 'resnet20'] as const
/** Samples of a host's step. */
const BATCH = 16

/**
 * Whole training by S-SGD, a learner on each host: images a second of all hosts with a hub behind them, beside the same without one, and beside PyTorch's
 * DistributedDataParallel over Gloo on the same links. One row a model and peer; that of `sharded` has the milliseconds of a step, and what the simulator
 * says of them, for hosts that have a core each.
 */
export async function training(options: BenchOptions, models: readonly string[]): Promise<readonly HubResult[]> {
  const mpi = openMpi()
  const python = await pythonWithTorch()
  await using laboratory = await Laboratory.open(HOSTS + 1, MBIT, undefined, TIMES * MBIT)
  const images = (steps: number) => steps * BATCH * HOSTS
  const rows: HubResult[] = []
  for (const model of models) {
    const ours = async (hosts: number): Promise<number> => {
      const child = node('../hub/training-child.js', [model, BATCH, options.seconds, HOSTS])
      const on = Array.from({ length: hosts }, (_, host) => host)
      return images((await answerOf<{ rate: number }>(onAllHosts(mpi, laboratory, child, {}, on), options.seconds)).rate)
    }
    const ddp = async (): Promise<number> => {
      const [steps] = await ddpSteps([{ model, batch: BATCH }], { hosts: HOSTS, mbit: MBIT, seconds: options.seconds })
      return images(steps!)
    }
    const [atHub, sharded, byDdp]: number[][] = [[], [], []]
    for (let pair = 0; pair < options.pairs; pair++) {
      atHub!.push(await ours(HOSTS + 1))
      sharded!.push(await ours(HOSTS))
      if (python) byDdp!.push(await ddp())
    }
    const simulated = await simulatedSteps(model)
    const steps = (rates: readonly number[]) => (1000 * images(1)) / median(rates)
    const milliseconds = { hub: steps(atHub!), sharded: steps(sharded!), simulated }
    const row = (peer: string, rates: readonly number[], more: object): HubResult => ({
      bench: 'hub',
      case: `training hub h${HOSTS} link${TIMES}x ${model}`,
      peer,
      unit: 'images/s',
      ...comparison(atHub!, rates),
      ...more,
      batch: BATCH,
      mbit: MBIT,
      mpi: mpi.name,
      load: loadavg()[0]!
    })
    rows.push(row('sharded', sharded!, { peerMode: 'S-SGD without a hub', milliseconds }))
    if (python) rows.push(row('ddp-gloo', byDdp!, { peerMode: `PyTorch ${python.torch}, DistributedDataParallel` }))
  }
  return rows
}

async function simulatedSteps(model: string): Promise<Readonly<Record<string, number>>> {
  const machines = { hosts: HOSTS, link: `${MBIT}Mbit`, hub: `${TIMES * MBIT}Mbit` }
  const { modes } = await predict({ model, batch: BATCH, threads: 1, ...machines })
  return Object.fromEntries(modes.map(({ mode, stepMilliseconds }) => [mode, stepMilliseconds]))
}
