import type { BenchOptions } from '../bench.js'
import { startOurs } from '../ours.js'
import { compare, type Comparison } from '../pairs.js'
import { median } from '../statistics.js'
import { busyNeighbour } from './busy-neighbour.js'

/** The numbers of learners of a sweep. */
export const SWEPT = [1, 2, 3, 4, 5, 6] as const
export const BATCH = 16

/** The machine's other work: none, or a process that keeps a core busy. */
export type Load = 'idle' | 'busy'

/** Images per second of one learner, of two and so on. */
export type Rates = readonly number[]

type Windows = Pick<BenchOptions, 'pairs' | 'seconds'>

/** Measures all populations in turns: if the machine's speed drifts, all rates change. */
export async function sweep(model: string, load: Load, { pairs, seconds }: Windows): Promise<Rates> {
  const rates = SWEPT.map((): number[] => [])
  for (let turn = 0; turn < pairs; turn++) {
    for (const [i, learners] of SWEPT.entries()) {
      const side = await start(model, learners)
      try {
        using _ = neighbourOf(load)
        rates[i]!.push(await side.run(seconds))
      } finally {
        side.close()
      }
    }
  }
  return rates.map(median)
}

/**
 * The rate of `learners` against that of the best population of a sweep at the same load; null if they are the best one. Both are measured again, in
 * pairs: the windows that made a population the best of six were probably too good for it.
 */
export async function shareOfBest(model: string, learners: number, load: Load, rates: Rates, windows: Windows): Promise<Comparison | null> {
  const best = rates.indexOf(Math.max(...rates)) + 1
  if (learners === best) return null
  const found = await start(model, learners)
  const swept = await start(model, best).catch((error: unknown) => {
    found.close()
    throw error
  })
  try {
    using _ = neighbourOf(load)
    return await compare(found, swept, windows)
  } finally {
    found.close()
    swept.close()
  }
}

/** The process that makes the load. */
export function neighbourOf(load: Load): Disposable | undefined {
  return load === 'busy' ? busyNeighbour() : undefined
}

function start(model: string, learners: number) {
  return startOurs({ model, batch: BATCH, learners, precision: 'f32' })
}
