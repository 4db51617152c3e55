import { expect } from 'chai'
import {
  concat,
  conv2d,
  datasetFromArrays,
  defineModel,
  embedding,
  gru,
  imagePositions,
  linear,
  relu,
  train,
  type ArrayDatasetOptions,
  type Layer,
  type TrainOptions
} from '../../src/index.js'
import { generator } from '../engine/support/operator-case.js'
import { refused } from '../support/codes.js'

const SIDE = 8
const LENGTH = 10
const TRAINED: Partial<TrainOptions> = {
  batch: 8,
  learners: 2,
  optimiser: { name: 'adam', learningRate: 0.01, schedule: 'constant' },
  seed: 3
}

/** Images with a bright and a dark rectangle, and of each pixel what it belongs to; every fourth pixel has no class. */
function segments(count: number): ArrayDatasetOptions {
  const random = generator(1)
  const samples = Float32Array.from({ length: count * SIDE * SIDE }, () => 0.2 * random() - 0.1)
  const labels = new Int32Array(samples.length)
  for (let i = 0; i < count; i++)
    for (const [label, shift] of [1, -1].entries()) {
      const [row, column] = [Math.floor(4 * random()), Math.floor(4 * random())]
      for (let pixel = 0; pixel < 16; pixel++) {
        const at = (i * SIDE + row + Math.floor(pixel / 4)) * SIDE + column + (pixel % 4)
        samples[at] = shift + 0.2 * random()
        labels[at] = label + 1
      }
    }
  const names = { classes: 3, classNames: ['ground', 'bright', 'dark'] }
  return { sample: [1, SIDE, SIDE], samples, labels: labels.map((label, at) => (at % 4 === 3 ? -1 : label)), label: [SIDE, SIDE], ...names }
}

/** Sentences of tokens 1 to 9, of all lengths, padded by 0; a token's tag is whether a larger one follows it, and padding has none. */
function sentences(count: number): ArrayDatasetOptions {
  const random = generator(2)
  const samples = new Int32Array(count * LENGTH)
  const labels = new Int32Array(samples.length).fill(-1)
  for (let i = 0; i < count; i++) {
    const length = 1 + Math.floor(LENGTH * random())
    for (let t = 0; t < length; t++) samples[i * LENGTH + t] = 1 + Math.floor(9 * random())
    for (let t = 0; t < length; t++) {
      const at = i * LENGTH + t
      labels[at] = t + 1 < length && samples[at + 1]! > samples[at]! ? 1 : 0
    }
  }
  return { sample: [LENGTH], samples, labels, label: [LENGTH], classes: 2 }
}

const segmenting = [conv2d(8, 3, { padding: 1 }), relu(), conv2d(3, 1), imagePositions()]
const tagging = [embedding(10, 8), concat([[gru(8)], [gru(8, { reverse: true })]]), linear(2)]

const modelOf = (name: string, { sample }: ArrayDatasetOptions, layers: Layer[]) => defineModel({ name, input: sample, layers })

/** Loss, accuracy and the precision of class 0 over the positions that have a class, from a model's outputs. */
function scores(outputs: Float32Array, labels: Int32Array, classes: number) {
  let [loss, right, count] = [0, 0, 0]
  const zeros = { answered: 0, right: 0 }
  for (const [at, label] of labels.entries()) {
    if (label < 0) continue
    const logits = outputs.subarray(at * classes, (at + 1) * classes)
    loss += Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit), 0)) - logits[label]!
    right += logits.every((logit, c) => c === label || logit < logits[label]!) ? 1 : 0
    count++
    if (logits.indexOf(Math.max(...logits)) !== 0) continue
    zeros.answered++
    if (label === 0) zeros.right++
  }
  return { loss: loss / count, accuracy: right / count, precision: zeros.right / zeros.answered, count }
}

describe('labels of positions', () => {
  for (const [what, given, layers, learnt] of [
    ['pixels', segments(260), segmenting, 0.97],
    ['tokens', sentences(600), tagging, 0.95]
  ] as const)
    it(`of ${what} are learnt, and those without a class count for nothing`, async () => {
      const data = datasetFromArrays(given)
      const job = train({ ...TRAINED, model: modelOf(what, given, [...layers]), data, until: { epochs: 12 }, metrics: ['perClass'] })
      const { testAccuracy, testLoss, testMetrics } = await job.finished
      expect(testAccuracy).to.be.above(learnt)
      const { samples, labels } = data.test
      const found = scores(await job.model.predict(samples), labels!, data.classes)
      expect(testLoss).to.be.closeTo(found.loss, 1e-4 * found.loss + 1e-6)
      expect(testAccuracy).to.be.closeTo(found.accuracy, 1e-9)
      expect(testMetrics!.perClass!.reduce((sum, each) => sum + each.samples, 0)).to.equal(found.count)
      expect(testMetrics!.perClass![0]!.precision).to.be.closeTo(found.precision, 1e-12)
      // Each position has an answer of its own.
      const answers = await job.model.classify(samples.subarray(0, samples.length / data.test.count), { top: 1 })
      expect(answers).to.have.length(labels!.length / data.test.count)
      const right = answers.filter(([answer], at) => answer!.class === labels![at])
      expect(right.length).to.be.at.least(0.7 * labels!.subarray(0, answers.length).filter((label) => label >= 0).length)
      const measured = await job.model.evaluate(data)
      expect(measured.testLoss).to.be.closeTo(testLoss, 1e-6)
      expect(measured.testAccuracy).to.equal(testAccuracy)
    })

  it('without a class have no influence on what is learnt', async () => {
    const given = sentences(200)
    const weightsOf = async (padding: number): Promise<Float32Array> => {
      // Other tokens where nothing counts, before which no token of this model looks.
      const samples = Int32Array.from(given.samples, (token) => (token === 0 ? padding : token))
      const data = datasetFromArrays({ ...given, samples })
      const model = modelOf('alone', given, [embedding(10, 8), linear(8), relu(), linear(2)])
      const job = train({ ...TRAINED, model, data, until: { epochs: 1 } })
      await job.finished
      const { [`linear1.weight`]: weight } = await job.model.weights()
      return weight!.data
    }
    expect(await weightsOf(0)).to.deep.equal(await weightsOf(7))
  })

  it('overfit as labels of samples do', async () => {
    const given = sentences(64)
    const model = modelOf('tags', given, tagging)
    const job = train({ ...TRAINED, model, data: datasetFromArrays(given), overfit: 1, until: { epochs: 5 } })
    expect((await job.finished).testAccuracy).to.be.above(0.95)
  })

  it('are refused where the model answers otherwise', async () => {
    const given = segments(40)
    const data = datasetFromArrays(given)
    const start = (layers: Layer[], other = data) =>
      train({ ...TRAINED, model: modelOf('m', given, layers), data: other, until: { epochs: 1 } }).finished
    await refused('SHAPE_MISMATCH', () => start([conv2d(3, 1)]), 'imagePositions')
    await refused('SHAPE_MISMATCH', () => start([conv2d(4, 1), imagePositions()]), '3 classes at each of 64 positions', 'conv2d(3, 1)')
    const labels = new Int32Array(40)
    const { label: _, ...single } = given
    await refused('SHAPE_MISMATCH', () => start(segmenting, datasetFromArrays({ ...single, labels })), 'answers at each of 64 positions')
  })

  it('are refused where a token is not in the embedding', async () => {
    const given = sentences(40)
    const start = () =>
      train({ ...TRAINED, model: modelOf('m', given, [embedding(9, 4), linear(2)]), data: datasetFromArrays(given) }).finished
    await refused('INVALID_OPTION', start, 'token', '9')
  })
})
