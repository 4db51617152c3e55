import { expect } from 'chai'
import {
  datasetFromArrays,
  defineModel,
  flatten,
  linear,
  openDataset,
  relu,
  sigmoid,
  train,
  type StoredDataset,
  type TrainOptions
} from '../../src/index.js'
import { balancedPositiveWeights, balancedWeights } from '../../src/data/balanced-weights.js'
import { refused } from '../support/codes.js'

/** Points of the plane; the two targets say whether they lie right of and above lines that one linear layer can tell. */
function quadrants(count: number): StoredDataset {
  const samples = Float32Array.from({ length: 2 * count }, (_, i) => Math.sin(37 * i + 1))
  const side = (i: number): number => (samples[i]! + 0.3 * samples[i ^ 1]! > 0.1 ? 1 : 0)
  const targets = Float32Array.from(samples, (_, i) => side(i))
  return datasetFromArrays({
    name: 'quadrants',
    sample: [2],
    target: [2],
    samples,
    targets,
    test: { samples, targets }
  })
}

/** The data set with a tenth of one class's training samples. */
function withFew({ sample, classes, train: { samples, labels }, test }: StoredDataset, rare: number): StoredDataset {
  const pixels = sample.reduce((a, b) => a * b)
  const kept = [...labels!.keys()].filter((i) => labels![i] !== rare || i % 10 === 0)
  const images = new Uint8Array(kept.length * pixels)
  for (const [to, from] of kept.entries()) images.set((samples as Uint8Array).subarray(from * pixels, (from + 1) * pixels), to * pixels)
  return datasetFromArrays({
    sample,
    samples: images,
    labels: kept.map((i) => labels![i]!),
    classes,
    test: { samples: test.samples, labels: test.labels! }
  })
}

describe('losses in training', () => {
  it('learn answers that are each for or against, and count who has all of them right', async () => {
    const model = defineModel({ name: 'sides', input: [2], layers: [linear(8), sigmoid(), linear(2)], loss: 'binaryCrossEntropy' })
    const data = quadrants(500)
    const job = train({ model, data, learners: 1, batch: 10, until: { epochs: 8 }, optimiser: { learningRate: 0.5, milestones: [] } })
    const { testAccuracy } = await job.finished
    expect(testAccuracy).to.be.greaterThan(0.9)
    const logits = await job.model.predict(data.test.samples)
    const right = (i: number): boolean => logits[i]! > 0 === data.test.targets![i]! > 0.5
    const all = Array.from({ length: 500 }, (_, i) => right(2 * i) && right(2 * i + 1)).filter(Boolean).length
    expect(testAccuracy).to.equal(all / 500)
  })

  it('find a label that seldom holds, where it counts as much as where it does not', async () => {
    const model = defineModel({ name: 'sides', input: [2], layers: [linear(2)], loss: 'binaryCrossEntropy' })
    const samples = quadrants(400).train.samples as Float32Array
    // The first label holds for one in four of the points of a quarter, so that it is unlikely everywhere.
    const targets = samples.map((x, i) => Number(i % 2 === 0 ? x > 0.5 && i % 8 === 0 : x > 0))
    const data = datasetFromArrays({ sample: [2], target: [2], samples, targets, test: { samples, targets } })
    const recallWith = async (options: Pick<TrainOptions, 'positiveWeights'>): Promise<number | null> => {
      const job = train({ model, data, learners: 1, batch: 10, until: { epochs: 4 }, seed: 1, metrics: ['perClass'], ...options })
      return (await job.finished).testMetrics!.perClass![0]!.recall
    }
    expect(await recallWith({})).to.be.lessThan(0.2)
    const balanced = await recallWith({ positiveWeights: 'balanced' })
    expect(balanced).to.be.greaterThan(0.8)
    expect(await recallWith({ positiveWeights: balancedPositiveWeights(data) })).to.equal(balanced)
  })

  it('tell how often the right class is among the likeliest', async () => {
    const data = await openDataset('digits', { samples: 1000 })
    const job = train({ model: 'mlp', data, learners: 2, batch: 16, until: { epochs: 1 }, topK: 3, labelSmoothing: 0.1 })
    const shares: number[] = []
    job.on('evaluated', ({ testTopK }) => shares.push(testTopK!))
    const { testAccuracy, testTopK } = await job.finished
    expect(testTopK).to.equal(shares.at(-1))
    const logits = await job.model.predict(data.test.samples)
    const better = (i: number): number => {
      const own = logits.subarray(10 * i, 10 * i + 10)
      return own.filter((value) => value > own[data.test.labels![i]!]!).length
    }
    const ranks = Array.from({ length: data.test.count }, (_, i) => better(i))
    expect(shares.at(-1)).to.equal(ranks.filter((rank) => rank < 3).length / data.test.count)
    expect(testAccuracy).to.equal(ranks.filter((rank) => rank < 1).length / data.test.count)
    expect(shares.at(-1)).to.be.greaterThan(testAccuracy!)
  })

  it('let a model find a class of which it has seen few, where all classes count the same', async () => {
    const data = withFew(await openDataset('digits', { samples: 1000 }), 3)
    const recallWith = async (options: Pick<TrainOptions, 'classWeights'>): Promise<number> => {
      const job = train({ model: 'mlp', data, learners: 1, batch: 16, until: { epochs: 3 }, seed: 1, metrics: ['perClass'], ...options })
      const { testMetrics } = await job.finished
      return testMetrics!.perClass![3]!.recall!
    }
    const balanced = await recallWith({ classWeights: 'balanced' })
    expect(balanced).to.be.greaterThan((await recallWith({})) + 0.1)
    expect(balancedWeights(data)[3]).to.be.greaterThan(4)
    expect(await recallWith({ classWeights: balancedWeights(data) })).to.equal(balanced)
  })

  it('learn shares of classes: all of one are its class number, and what all have of each other is smoothing', async () => {
    const { sample, classes, train: digits, test } = await openDataset('digits', { samples: 1000 })
    const model = defineModel({ name: 'net', input: sample, layers: [flatten(), linear(32), relu(), linear(classes)] })
    const sharesOf = (labels: Int32Array, smoothed: number): Float32Array =>
      Float32Array.from(
        { length: labels.length * classes },
        (_, i) => smoothed / classes + (i % classes === labels[Math.floor(i / classes)] ? 1 - smoothed : 0)
      )
    const byShares = (smoothed: number): StoredDataset =>
      datasetFromArrays({
        sample,
        samples: digits.samples,
        target: [classes],
        targets: sharesOf(digits.labels!, smoothed),
        test: { samples: test.samples, targets: sharesOf(test.labels!, 0) }
      })
    const byNumber = datasetFromArrays({
      sample,
      samples: digits.samples,
      labels: digits.labels!,
      classes,
      test: { samples: test.samples, labels: test.labels! }
    })
    const scoresOf = async (data: StoredDataset, options: Partial<TrainOptions> = {}) => {
      const run = { model, data, learners: 2, batch: 16, until: { epochs: 2 }, seed: 1, metrics: ['perClass', 'auc'] as const }
      const { testAccuracy, testLoss, testMetrics } = await train({ ...run, ...options }).finished
      return { testAccuracy: testAccuracy!, testLoss, testMetrics }
    }
    for (const smoothed of [0, 0.1]) {
      const [shares, numbers] = [await scoresOf(byShares(smoothed)), await scoresOf(byNumber, { labelSmoothing: smoothed })]
      expect(shares.testLoss / numbers.testLoss).to.be.closeTo(1, 1e-4)
      expect(shares.testAccuracy).to.be.greaterThan(0.6).and.equal(numbers.testAccuracy)
      expect(shares.testMetrics).to.deep.equal(numbers.testMetrics)
    }
    await refused('INVALID_OPTION', () => scoresOf(byShares(0), { topK: 3 }), 'topK: received 3; leave it out: the targets are soft')
    const tooLarge = byShares(0)
    tooLarge.train.targets!.set([0.5], 17)
    await refused('INVALID_OPTION', () => scoresOf(tooLarge), 'train.targets[10]: received [', 'shares of the classes that are 1 together')
  })

  it('refuse classes where they take targets, before any work', async () => {
    const data = await openDataset('digits', { samples: 100 })
    for (const loss of ['binaryCrossEntropy', 'meanSquaredError'] as const) {
      const model = defineModel({ name: 'own', input: data.sample, layers: [flatten(), linear(10)], loss })
      await refused(
        'SHAPE_MISMATCH',
        () => train({ model, data, learners: 1 }).finished,
        `its loss ${loss} takes targets`,
        'has 10 classes'
      )
    }
    const classes = defineModel({ name: 'own', input: [2], layers: [linear(2)] })
    await refused('INVALID_OPTION', () => train({ model: classes, data: quadrants(20), learners: 1 }).finished, 'use binaryCrossEntropy')
    const one = defineModel({ name: 'own', input: [2], layers: [linear(1)] })
    const values = datasetFromArrays({ sample: [2], samples: new Float32Array(40), target: [1], targets: new Float32Array(20) })
    await refused('SHAPE_MISMATCH', () => train({ model: one, data: values, learners: 1 }).finished, 'targets [1]')
  })

  it('refuse targets that are neither yes nor no, nor between, before any work', async () => {
    const model = defineModel({ name: 'own', input: [1], layers: [linear(1)], loss: 'binaryCrossEntropy' })
    const dataOf = (targets: number[], ofTests: number[]): StoredDataset =>
      datasetFromArrays({
        sample: [1],
        target: [1],
        samples: Float32Array.of(0, 1),
        targets: Float32Array.from(targets),
        test: { samples: Float32Array.of(0, 1), targets: Float32Array.from(ofTests) }
      })
    for (const [data, fault] of [
      [dataOf([1, 2], [0, 1]), 'train.targets[1]: received 2'],
      [dataOf([0, 0.5], [-1, 1]), 'test.targets[0]: received -1']
    ] as const)
      await refused('INVALID_OPTION', () => train({ model, data, learners: 1 }).finished, fault, 'from 0, for no, to 1, for yes')
  })

  it('refuse options that make no sense, before any work', async () => {
    await refused('INVALID_OPTION', () => train({ model: 'mlp', labelSmoothing: 1 }), 'labelSmoothing', '1')
    await refused('INVALID_OPTION', () => train({ model: 'mlp', topK: 0 }), 'topK', '0')
    await refused('INVALID_OPTION', () => train({ model: 'mlp', classWeights: [1, -1] }), 'classWeights[1]: received -1')
    await refused(
      'INVALID_OPTION',
      () => train({ model: 'mlp', classWeights: 'even' as 'balanced' }),
      'classWeights: received "even"',
      'balanced'
    )
    const data = await openDataset('digits', { samples: 100 })
    const few = () => train({ model: 'mlp', data, learners: 1, classWeights: [1, 2] }).finished
    await refused('SHAPE_MISMATCH', few, 'classWeights: received 2 numbers', 'each of the 10 classes')
    const model = defineModel({ name: 'own', input: [2], layers: [linear(2)], loss: 'binaryCrossEntropy' })
    const targets = () => train({ model, data: quadrants(20), learners: 1, classWeights: 'balanced' }).finished
    await refused('INVALID_OPTION', targets, 'classWeights: received "balanced"', 'is for softmaxCrossEntropy', 'has binaryCrossEntropy')
    for (const option of [{ labelSmoothing: 0.1 }, { positiveWeights: 'balanced' }, { positiveWeights: 2 }] as const) {
      const [[name, value]] = Object.entries(option) as [[string, unknown]]
      const fit = () => train({ model: 'positiveWeights' in option ? 'mlp' : model, data, learners: 1, ...option }).finished
      await refused('INVALID_OPTION', fit, `${name}: received ${JSON.stringify(value)}; leave it out`)
    }
    await refused('INVALID_OPTION', () => train({ model: 'mlp', classWeights: [0, 0] }), 'classWeights: received [0,0]', 'above 0')
  })
})
