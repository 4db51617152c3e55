import type { BenchOptions } from '../bench.js'
import { startOurs } from '../ours.js'
import { compare, type Comparison } from '../pairs.js'
import { median } from '../statistics.js'
import { busyNeighbour } from './busy-neighbour.js'

/** Learners of a sweep. */
export const SWEPT = [1, 2, 3, 4, 5, 6] as const
export const BATCH = 16

/** Of the machine beside what is measured: nothing, or a process that takes a whole core. */
export type Load = 'idle' | 'busy'

/** Images a second of one learner, two and so on. */
export type Rates = readonly number[]

type Windows = Pick<BenchOptions, 'pairs' | 'seconds'>

/** In turns, so that a machine whose speed drifts moves all populations. */
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
 * What so many learners train of what the best of a sweep do at the same load; null where they are that best. Measured anew, in pairs: the
 * windows in which a population came out as the best of six flatter it.
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

/** What else takes processor time at a load. */
export function neighbourOf(load: Load): Disposable | undefined {
  return load === 'busy' ? busyNeighbour() : undefined
}

function start(model: string, learners: number) {
  return startOurs({ model, batch: BATCH, learners, precision: 'f32' })
}
