import type { FinishedEvent } from '../../../src/observe/events.js'
import { defineModel, flatten, linear, relu } from '../../../src/model/layers.js'
import { train } from '../../../src/run/train.js'

export interface ChangingJob {
  readonly finished: FinishedEvent
  readonly changes: number
  readonly lost: number
}

/** A learner's replica of it takes ten megabytes, so that one that stayed would be seen. */
const WIDE = defineModel({ name: 'wide', input: [1, 28, 28], layers: [flatten(), linear(1000), relu(), linear(10)] })

/** Rounds between two changes. */
const ROUNDS = 25

/** Every third learner ends its own thread in the middle of its first steps, or leaves a step half done. */
const DEADLY = `data:text/javascript,${encodeURIComponent(`export default ({ replica, learner }) => {
  let steps = 0
  return async () => {
    if (learner % 3 === 2 && ++steps > 7) {
      await replica.load()
      if (learner % 2 === 0) throw new Error('told to die')
      process.exit(3)
    }
    await replica.run(1)
  }
}`)}`

/** One to four learners by turns, so many changes long. */
export async function changingJob({ changes: count, deadly }: { changes: number; deadly: boolean }): Promise<ChangingJob> {
  const schedule = Array.from({ length: count + 1 }, (_, i) => ({ round: i * ROUNDS, learners: [2, 1, 3, 2, 4, 1][i % 6]! }))
  const job = train({
    model: WIDE,
    data: 'digits',
    batch: 4,
    learners: { schedule },
    until: { steps: (count + 1) * ROUNDS },
    ...(deadly && { learner: new URL(DEADLY), supervision: { restarts: 1000 } })
  })
  let changes = 0
  let lost = 0
  job.on('population', () => changes++)
  job.on('learnerLost', () => lost++)
  return { finished: await job.finished, changes, lost }
}
