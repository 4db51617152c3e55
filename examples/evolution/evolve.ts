import { train, type Dataset, type FinishedEvent, type LearnerLostEvent } from 'arbalest'
import type { Evolution } from './learner.js'

export interface Evolved {
  readonly finished: FinishedEvent
  readonly lost: readonly LearnerLostEvent[]
  /** The final rates, one for each place. */
  readonly rates: readonly number[]
}

/** Trains a learner for each rate; learners with bad rates are replaced. */
export async function evolve(data: Dataset, rates: readonly number[], { epochs = 10 } = {}): Promise<Evolved> {
  const board = new SharedArrayBuffer(16 * rates.length)
  const job = train({
    model: 'mlp',
    data,
    batch: 16,
    learners: rates.length,
    optimiser: { momentum: 0, milestones: [] },
    until: { epochs },
    learner: new URL('./learner.js', import.meta.url),
    learnerOptions: { board, rates, stride: 20, patience: 3, margin: 1.5, noise: 0.1 } satisfies Evolution,
    supervision: { restarts: 20 }
  })
  const lost: LearnerLostEvent[] = []
  job.on('learnerLost', (event) => void lost.push(event))
  const finished = await job.finished
  const last = new Float64Array(board)
  return { finished, lost, rates: rates.map((_, place) => last[2 * place]!) }
}
