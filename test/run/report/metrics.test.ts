import { expect } from 'chai'
import {
  datasetFromArrays,
  defineModel,
  linear,
  openDataset,
  train,
  type EvaluatedEvent,
  type StoredDataset,
  type TrainOptions
} from '../../../src/index.js'
import { refused } from '../../support/codes.js'

const noise = (i: number): number => Math.abs((Math.sin(12.9898 * i + 78.233) * 43758.5453) % 1) - 0.5

/** Sums and differences of two numbers, with noise. */
function sums(count: number): StoredDataset {
  const samples = Float32Array.from({ length: 2 * count }, (_, i) => noise(i))
  const targets = Float32Array.from(samples, (value, i) => 5 + value + (i % 2 === 0 ? 1 : -1) * samples[i ^ 1]! + 0.1 * noise(i + 7000))
  return datasetFromArrays({ name: 'sums', sample: [2], target: [2], samples, targets, test: { samples, targets } })
}

async function trained(options: TrainOptions) {
  const job = train({ learners: 1, batch: 16, ...options })
  const events: EvaluatedEvent[] = []
  job.on('evaluated', (event) => events.push(event))
  return { job, events, finished: await job.finished }
}

describe('Metrics of evaluations', function () {
  this.timeout(60_000)
  const line = defineModel({ name: 'line', input: [2], layers: [linear(2)], loss: 'meanSquaredError' })

  it('are exact over classes, the same in training and afterwards, however many evaluators there are', async () => {
    const data = await openDataset('digits', { samples: 1000 })
    const metrics = ['f1', 'confusion', 'perClass', 'recall', 'precision', 'iou', 'auc'] as const
    // One learner has one evaluator; `evaluate` has one for each core.
    const { job, events, finished } = await trained({ model: 'mlp', data, until: { epochs: 1 }, metrics })
    const outputs = await job.model.predict(data.test.samples)
    const answers = Array.from({ length: data.test.count }, (_, i) => {
      const own = [...outputs.subarray(10 * i, 10 * i + 10)]
      return own.indexOf(Math.max(...own))
    })
    const { confusion, perClass, f1 } = events[0]!.testMetrics!
    const confused = Array.from({ length: 10 }, () => Array<number>(10).fill(0))
    answers.forEach((answer, i) => confused[data.test.labels![i]!]![answer]!++)
    expect(confusion).to.deep.equal(confused)
    expect(confused.reduce((sum, row, i) => sum + row[i]!, 0) / data.test.count).to.equal(events[0]!.testAccuracy)
    expect(perClass!.reduce((sum, each) => sum + each.f1!, 0) / 10).to.be.closeTo(f1!, 1e-12)
    expect(finished.testMetrics).to.deep.equal(events[0]!.testMetrics)
    expect((await job.model.evaluate(data)).testMetrics).to.deep.equal(events[0]!.testMetrics)
    expect((await job.model.evaluate(data, { metrics: ['f1'] })).testMetrics).to.deep.equal({ f1 })
    await refused('INVALID_OPTION', () => job.model.evaluate(data, { metrics: ['mae'] }), 'metrics: received "mae"')
    await refused('UNKNOWN_NAME', () => job.model.evaluate(data, { metrics: ['f2' as never] }), 'f1')
  })

  it('are exact over numbers, and end a run and choose its model', async () => {
    const data = sums(400)
    const until = { epochs: 30, monitor: 'mae', patience: 2, minDelta: 0.01 } as const
    const { job, events, finished } = await trained({ model: line, data, until, keep: 'best', optimiser: { learningRate: 0.05 } })
    expect(finished.reason).to.equal('patience')
    const maes = events.map(({ testMetrics }) => testMetrics!.mae!)
    expect(finished.testMetrics!.mae).to.equal(Math.min(...maes))
    const { testMetrics, testLoss } = await job.model.evaluate(data)
    const outputs = await job.model.predict(data.test.samples)
    const targets = data.test.targets!
    const errors = [...outputs].map((value, i) => targets[i]! - value)
    expect(testMetrics.mae).to.be.closeTo(errors.reduce((sum, error) => sum + Math.abs(error), 0) / 800, 1e-9)
    expect(testMetrics.rmse! ** 2).to.be.closeTo(testLoss, 0.1 * testLoss)
    const spread = (own: readonly number[]) => {
      const mean = own.reduce((a, b) => a + b, 0) / own.length
      return own.reduce((sum, value) => sum + (value - mean) ** 2, 0)
    }
    const r2s = [0, 1].map((o) => {
      const own = <T>(values: readonly T[]) => values.filter((_, i) => i % 2 === o)
      return 1 - own(errors).reduce((sum, error) => sum + error ** 2, 0) / spread(own([...targets]))
    })
    expect(testMetrics.r2).to.be.closeTo((r2s[0]! + r2s[1]!) / 2, 1e-9)
  })

  it('are refused before training where they do not suit the model', async () => {
    const data = sums(20)
    const start = (options: Partial<TrainOptions>) => train({ model: line, data, learners: 1, batch: 4, ...options }).finished
    await refused('INVALID_OPTION', () => start({ metrics: ['f1'] }), 'metrics: received "f1"', 'gives numbers, not classes')
    await refused('INVALID_OPTION', () => start({ until: { monitor: 'recall' } }), 'until.monitor: received "recall"')
    await refused('INVALID_OPTION', () => start({ until: { monitor: 'accuracy' } }), 'until.monitor: received "accuracy"', 'loss, r2')
    await refused('UNKNOWN_NAME', () => start({ metrics: ['F1' as never] }), 'metrics[0]', 'f1')
  })
})
