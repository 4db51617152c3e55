/** tta-child SPEC: one host of a run to a target accuracy. The first one prints the seconds of training, without those of the evaluations, and the accuracies. */
import { train } from '../arbalest.js'
import { isFirstProcess } from '../internals.js'
import type { OurRun } from './tta.js'

const { model, data, rule, learners, rate, period, target, evaluateEvery, steps, seed } = JSON.parse(process.argv[2]!) as OurRun
const curve: [number, number][] = []
const job = train({
  model,
  data,
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
