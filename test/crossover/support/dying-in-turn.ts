import { expect } from 'chai'
import { crossover, openDataset, train, type CrossoverEvent, type FinishedEvent, type TrainOptions } from '../../../src/index.js'

/** Drawing all digits would take longer than training. */
const data = await openDataset('digits', { samples: 2000 })

interface DyingInTurn {
  readonly rule: 'ssgd' | 'sma' | 'local-sgd'
  readonly backend: 'cpu' | 'cuda-host'
  /** Of each job. */
  readonly learners: number
  /** The end of the learner's thread. */
  readonly how: 'throw' | 'exit'
}

/** A learner of the first of two jobs dies while it has the device: both end with the weights that they have alone. */
export async function dyingInTurn({ rule, backend, learners, how }: DyingInTurn): Promise<void> {
  const learner = new URL('../../fakes/half-gradient-learner.js', import.meta.url)
  const common = {
    model: 'mlp',
    data,
    batch: 8,
    learners,
    seed: 5,
    evaluateEvery: 1000,
    hosts: 'loopback',
    link: '1Gbit'
  } as const
  const about = { ...common, backend: backend as 'cpu', until: { steps: 24 } }
  const dying: TrainOptions = { ...about, synchroniser: rule, learner, learnerOptions: { how } }
  const other: TrainOptions = { ...about, synchroniser: 'ssgd', seed: 6 }
  const pair = crossover([dying, other], { policy: 'crossed' })
  const events: CrossoverEvent[] = []
  for await (const event of pair) events.push(event)
  expect(events.filter(({ event }) => event === 'learnerLost')).to.have.length(1)
  const { jobs } = await pair.finished
  const solo = async (options: TrainOptions) => (await train(options).finished).weightsSha256
  expect(jobs[1]!.weightsSha256).to.equal(await solo(other))
  // When another learner goes on without it, and when its replacement joins, depends on time: alone the job repeats both.
  const { interventions } = events.find((event) => event.event === 'finished' && 'job' in event && event.job === 0) as FinishedEvent
  expect(jobs[0]!.weightsSha256).to.equal(await solo({ ...dying, interventions: interventions! }))
}
