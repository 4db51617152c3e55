import { train, type JobEvent } from '../arbalest.js'
import { workloadOf } from '../cases.js'
import { randomDataset } from '../random-dataset.js'
import type { Decision } from './tuned-run.js'

/** Trains with a tuned population that begins with `start` learners, and prints every decision as a line of JSON until the parent process ends it. */
const [model = '', batch = '', start = '', most = ''] = process.argv.slice(2)
const job = train({
  model,
  data: randomDataset(workloadOf(model)),
  batch: Number(batch),
  learners: { initial: Number(start), max: Number(most) },
  optimiser: { learningRate: 0.01, momentum: 0.9, weightDecay: 1e-4 },
  until: { steps: 20_000_000 },
  evaluateEvery: 1_000_000,
  seed: 1
})
for await (const event of job as AsyncIterable<JobEvent>) {
  if (event.event !== 'population') continue
  const { action, from, to, reason } = event
  const decision: Decision = { action, from, to, reason }
  process.stdout.write(`${JSON.stringify(decision)}\n`)
}
