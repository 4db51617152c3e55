import { loadavg } from 'node:os'
import type { BenchOptions } from '../bench.js'
import { comparison } from '../pairs.js'
import { median } from '../statistics.js'
import { answerOf, node, onLoopback, openMpi } from './mpi.js'
import type { Result } from './result.js'

interface Answer {
  readonly rate: number
  /** The share of a core that the thread of the hosts takes. */
  readonly busy: number
}

/** One learner in each of some processes, joined over loopback TCP, beside as many learners of one process: SMA in every step. */
export async function throughput(model: string, batch: number, processes: number, options: BenchOptions): Promise<Result> {
  const mpi = openMpi()
  const child = node('throughput-child.js', [model, batch, processes, options.seconds])
  const several = onLoopback(mpi, processes, child)
  // By the launcher too: on a busy machine it decides which share of the processor a process gets.
  const one = onLoopback(mpi, 1, child)
  const answers: Answer[] = []
  const alone: Answer[] = []
  for (let pair = 0; pair < options.pairs; pair++) {
    answers.push(await answerOf<Answer>(several, options.seconds))
    alone.push(await answerOf<Answer>(one, options.seconds))
  }
  const rates = (some: readonly Answer[]) => some.map(({ rate }) => rate)
  return {
    bench: 'hosts',
    case: `throughput ${model} b${batch} h${processes}`,
    peer: 'one-process',
    unit: 'images/s',
    peerMode: `${processes} learners`,
    ...comparison(rates(answers), rates(alone)),
    hostsThread: median(answers.map(({ busy }) => busy)),
    mpi: mpi.name,
    load: loadavg()[0]!
  }
}
