/** tta-child SPEC: one host of a run to a target accuracy. The first one prints the seconds of training, without those of the evaluations, and the accuracies. */
import { openDataset, train, type StoredDataset } from '../arbalest.js'
import { isFirstProcess } from '../internals.js'
import type { OurRun } from './tta.js'

const { model, rule, learners, rate, period, target, evaluateEvery, steps, seed, ...from } = JSON.parse(process.argv[2]!) as OurRun
const data = await openDataset(from.data)
const test = firstOf(data.test, from.tests ?? Infinity)

function firstOf({ count, samples, labels, ...others }: StoredDataset['test'], most: number): StoredDataset['test'] {
  const kept = Math.min(count, most)
  return { ...others, count: kept, samples: samples.subarray(0, (kept * samples.length) / count), labels: labels!.subarray(0, kept) }
}

const curve: [number, number][] = []
const job = train({
  model,
  data: { ...data, test },
  learners,
  batch: 16,
  seed,
  precision: 'f32',
  evaluateEvery,
  optimiser: { learningRate: rate, momentum: 0.9, weightDecay: 5e-4, schedule: 'constant' },
  synchroniser: { name: rule, period },
  until: { steps, accuracy: target }
})
job.on('evaluated', ({ iteration, testAccuracy }) => curve.push([iteration, testAccuracy!]))
job.on('finished', ({ seconds, iterations, testAccuracy }) => {
  if (isFirstProcess()) process.stdout.write(`${JSON.stringify({ seconds, steps: iterations, reached: testAccuracy! >= target, curve })}\n`)
})
await job.finished
