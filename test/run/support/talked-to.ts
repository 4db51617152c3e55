import { openDataset } from '../../../src/data/open.js'
import type { Dataset } from '../../../src/data/dataset.js'
import type { Job } from '../../../src/run/job.js'
import { train } from '../../../src/run/train.js'
import type { TrainOptions } from '../../../src/options/train-options.js'

let digits: Promise<Dataset> | undefined

/** Options of a run of many short rounds, which lasts about a second. */
export async function manyRounds(options: Partial<TrainOptions> = {}): Promise<TrainOptions> {
  const data = await (digits ??= openDataset('digits', { samples: 1000 }))
  return { model: 'logistic-regression', data, learners: 2, batch: 8, until: { steps: 1000 }, evaluateEvery: 1000, ...options }
}

export async function trainManyRounds(options: Partial<TrainOptions> = {}): Promise<Job> {
  return train(await manyRounds(options))
}

/** Resolves when so many more rounds are whole. */
export async function someRoundsLater({ actors }: Pick<Job, 'actors'>, rounds: number): Promise<void> {
  const { round } = await actors.synchroniser.ask.status()
  while ((await actors.synchroniser.ask.status()).round < round + rounds) await new Promise((resolve) => setTimeout(resolve, 2))
}

/** Does something while all learners rest, after some rounds. */
export async function atRest(job: Job, rounds: number, work: () => Promise<unknown>): Promise<void> {
  await someRoundsLater(job, rounds)
  await job.actors.synchroniser.ask.pause()
  await work()
  await job.actors.synchroniser.ask.resume()
}
