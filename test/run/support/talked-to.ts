import { openDataset } from '../../../src/data/open.js'
import type { Dataset } from '../../../src/data/dataset.js'
import type { FinishedEvent } from '../../../src/observe/events.js'
import type { Job } from '../../../src/run/job.js'
import type { RunModules } from '../../../src/run/run-modules.js'
import { train, trainWith } from '../../../src/run/train.js'
import type { TrainOptions } from '../../../src/options/train-options.js'

let digits: Promise<Dataset> | undefined

/** Options of a run of many short rounds, whose learning rate does not depend on how many they are to be: fast machines are through a thousand of them in some hundredths of a second. */
export async function manyRounds(options: Partial<TrainOptions> = {}): Promise<TrainOptions> {
  const data = await (digits ??= openDataset('digits', { samples: 1000 }))
  return {
    model: 'logistic-regression',
    data,
    learners: 2,
    batch: 8,
    optimiser: { milestones: [] },
    until: { steps: 1000 },
    evaluateEvery: 1000,
    ...options
  }
}

export async function trainManyRounds(options: Partial<TrainOptions> = {}): Promise<Job> {
  return train(await manyRounds(options))
}

/** What comes of a run of many rounds that is stopped once `talk` is over: however fast the machine, it does not end before. */
export async function talkedTo(
  options: Partial<TrainOptions>,
  talk: (job: Job) => Promise<unknown>,
  modules: Partial<RunModules> = {}
): Promise<FinishedEvent> {
  const job = trainWith(await manyRounds({ ...options, until: { steps: 1e6 } }), modules)
  try {
    await talk(job)
  } finally {
    job.stop()
  }
  return job.finished
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
