import { loadavg } from 'node:os'
import { ArbalestError } from '../errors.js'
import { answerOf, compiled } from '../hosts/mpi.js'
import type { HubResult } from '../hosts/hub-result.js'
import type { BenchOptions } from '../bench.js'
import { elements, modelNamed, parametersOf, predictionGraph } from '../internals.js'
import { comparison } from '../pairs.js'

const THREADS = 2
/** Whose gradients a server sums. */
const WORKERS = 4
/** A model with many short arrays, and with long ones that no cache holds. */
const MODEL = 'resnet18'

interface Answer {
  readonly rate: number
  readonly checksum: number
}

/**
 * Owners of chunks against a gang of threads with barriers, which both sum and step the same arrays on two cores: steps of all weights a second. Both are
 * in peers/aggregate.c, with equal kernels: only who does what is compared.
 */
export async function tall(options: BenchOptions): Promise<readonly HubResult[]> {
  const program = await compiled({ mpicc: process.env['CC'] ?? 'cc' }, 'aggregate.c', ['-O3', '-march=native', '-pthread'])
  const lengths = lengthsOf(MODEL)
  const sums = new Set<number>()
  const run = async (way: 'tall' | 'wide'): Promise<number> => {
    const args = [way, THREADS, WORKERS, options.seconds, lengths.join(',')].map(String)
    const { rate, checksum } = await answerOf<Answer>({ program, args }, options.seconds)
    sums.add(checksum)
    if (sums.size > 1) throw new ArbalestError('INTERNAL', `tall: the ways end with other weights: ${[...sums].join(' and ')}`)
    return rate
  }
  const ours: number[] = []
  const peers: number[] = []
  for (let pair = 0; pair < options.pairs; pair++) {
    ours.push(await run('tall'))
    peers.push(await run('wide'))
  }
  const row: HubResult = {
    bench: 'hub',
    case: `tall k${THREADS}`,
    peer: 'wide',
    unit: 'steps/s',
    ...comparison(ours, peers),
    model: MODEL,
    workers: WORKERS,
    bytes: Float32Array.BYTES_PER_ELEMENT * lengths.reduce((sum, length) => sum + length, 0),
    load: loadavg()[0]!
  }
  return [row]
}

function lengthsOf(model: string): readonly number[] {
  const graph = predictionGraph(modelNamed(model, { input: [3, 224, 224], classes: 1000 }))
  return parametersOf(graph).map(({ shape }) => elements(shape))
}
