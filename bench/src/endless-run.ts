import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { train, type Job, type TrainOptions } from './arbalest.js'
import { workloadOf, type Case } from './cases.js'
import { randomDataset } from './random-dataset.js'

/** A run that lasts longer than the bench, without the rests of measurements. Resolves a second after its first answer. */
export async function startEndlessRun({ model, batch, learners, precision }: Case, options: Partial<TrainOptions> = {}): Promise<Job> {
  const job = train({
    model,
    data: randomDataset(workloadOf(model)),
    batch,
    learners,
    precision,
    optimiser: { learningRate: 0.01 },
    until: { steps: 20_000_000 },
    evaluateEvery: 1e9,
    seed: 1,
    ...options
  })
  await job.actors.synchroniser.ask.status()
  await sleep(1000)
  return job
}

/** The moment at which an iteration becomes whole: windows that begin and end there have no part of one. */
export async function wholeIteration(job: Job): Promise<{ readonly iterations: number; readonly at: number }> {
  const { iterations: first } = await job.actors.synchroniser.ask.status()
  for (;;) {
    const { iterations } = await job.actors.synchroniser.ask.status()
    if (iterations > first) return { iterations, at: performance.now() }
  }
}
