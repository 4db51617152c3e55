import { expect } from 'chai'
import type { Dataset, StreamedSamples } from '../../src/data/dataset.js'
import { datasetFromArrays, defineModel, flatten, linear, conv2d, imagePositions, train, type TrainOptions } from '../../src/index.js'
import { CLASSES, pixelSample, SIDE, TARGET, type PixelReaderOptions } from '../fakes/pixel-reader.js'
import { refused } from '../support/codes.js'

const READER = new URL('../fakes/pixel-reader.js', import.meta.url).href
const SAMPLE = [1, SIDE, SIDE]
const COUNTS = { train: 70, test: 37 }

const segments = defineModel({
  name: 'segments',
  input: SAMPLE,
  layers: [conv2d(4, 3, { padding: 1 }), conv2d(CLASSES, 1), imagePositions()]
})
const numbers = defineModel({ name: 'numbers', input: SAMPLE, layers: [flatten(), linear(TARGET)], loss: 'meanSquaredError' })

/** The numbers of a part's samples: those of the test come after those to train on. */
function numbersOf(part: 'train' | 'test'): number[] {
  return Array.from({ length: COUNTS[part] }, (_, i) => (part === 'train' ? i : COUNTS.train + i))
}

/** The samples in memory. */
function stored(what: 'labels' | 'target'): Dataset {
  const arrays = (part: 'train' | 'test') => {
    const made = numbersOf(part).map(pixelSample)
    const samples = Uint8Array.from(made.flatMap(({ pixels }) => pixels))
    if (what === 'labels') return { samples, labels: Int32Array.from(made.flatMap(({ labels }) => labels)) }
    return { samples, targets: Float32Array.from(made.flatMap(({ target }) => target)) }
  }
  const common = { sample: SAMPLE, ...arrays('train'), test: arrays('test'), mean: [0.5], std: [0.5] }
  return what === 'labels'
    ? datasetFromArrays({ ...common, label: [SIDE, SIDE], classes: CLASSES })
    : datasetFromArrays({ ...common, target: [TARGET] })
}

/** The same samples, read in other threads. */
function streamed(
  writes: PixelReaderOptions['writes'],
  targets: Pick<StreamedSamples, 'classes' | 'label' | 'target' | 'targets'>,
  more: Partial<Dataset> = {}
): Dataset {
  const part = (which: 'train' | 'test'): StreamedSamples => ({
    count: COUNTS[which],
    sample: SAMPLE,
    items: numbersOf(which).map(String),
    reader: { module: READER, options: { writes } },
    ...targets,
    ...(writes === 'none' && { targets: Float32Array.from(numbersOf(which).flatMap((number) => pixelSample(number).target)) })
  })
  const common = { name: 'custom', sample: SAMPLE, classes: targets.classes ?? 0, mean: [0.5], std: [0.5] }
  return { ...common, train: part('train'), test: part('test'), augmentation: { padding: 0, flip: false }, ...more }
}

const PIXELS = { classes: CLASSES, label: [SIDE, SIDE] }

describe('Streamed samples with targets of their own', function () {
  this.timeout(120_000)

  async function trained(options: TrainOptions) {
    const job = train({ learners: 2, batch: 5, until: { epochs: 2 }, seed: 3, ...options })
    const { weightsSha256, testLoss, testAccuracy, testMetrics } = await job.finished
    return { weightsSha256, testLoss, testAccuracy, testMetrics }
  }

  for (const backend of ['cpu', 'cuda-host'] as unknown as readonly ['cpu', 'cuda']) {
    it(`train as those in memory do, with a class of each pixel that the reader writes (${backend})`, async () => {
      const augmentation = { padding: 1, flip: true, cutout: 2 }
      const options = { model: segments, backend, metrics: ['iou' as const], topK: 2 }
      const inMemory = await trained({ ...options, data: { ...stored('labels'), augmentation } })
      expect(inMemory.testAccuracy).to.be.within(0.2, 1)
      expect(await trained({ ...options, data: streamed('labels', PIXELS, { augmentation }) })).to.deep.equal(inMemory)
    })

    it(`train as those in memory do, with numbers as targets, written by the reader or given (${backend})`, async () => {
      const options = { model: numbers, backend, metrics: ['mae' as const] }
      const inMemory = await trained({ ...options, data: stored('target') })
      for (const writes of ['target', 'none'] as const)
        expect(await trained({ ...options, data: streamed(writes, { target: [TARGET] }) }), writes).to.deep.equal(inMemory)
    })
  }

  it('overfit, but their classes cannot be balanced before they have been read', async () => {
    const data = streamed('labels', PIXELS)
    const { testAccuracy } = await trained({ model: segments, data, overfit: 1, until: { epochs: 1 } })
    expect(testAccuracy).to.be.within(0, 1)
    await refused('INVALID_OPTION', () => trained({ model: segments, data, classWeights: 'balanced' }), 'give a number for each class')
  })

  it('are refused where the reader does not write what it has to, or a class that there is not', async () => {
    const run = (writes: PixelReaderOptions['writes'], more = {}) => trained({ model: segments, data: streamed(writes, PIXELS, more) })
    await refused('INVALID_OPTION', () => run('nothing'), 'its reader writes no class number at place 0 of 36')
    await refused('INVALID_OPTION', () => run('part'), 'its reader writes no class number at place 35 of 36')
    await refused('DATA_CORRUPT', () => run('too much'), 'its class at place 5 is 3; classes are 0 to 2, and -1 for none')
    expect((await run('too much', { feed: { onBadSample: 'skip' } })).testAccuracy).to.be.within(0, 1)
  })

  it('are refused where their description contradicts itself', async () => {
    const run = (targets: Parameters<typeof streamed>[1], labels = {}) => {
      const data = streamed('labels', targets)
      return trained({ model: segments, data: { ...data, train: { ...(data.train as StreamedSamples), ...labels } } })
    }
    await refused('INVALID_OPTION', () => run(PIXELS, { labels: new Int32Array(70) }), 'train.labels: leave them out')
    await refused('INVALID_OPTION', () => run({ classes: 3 }), 'train.labels: give an Int32Array')
    await refused('INVALID_OPTION', () => run({ ...PIXELS, target: [2] }), 'train.target')
    await refused(
      'INVALID_OPTION',
      () => run({ target: [2] }, { targets: new Float32Array(7) }),
      'train.targets: give a Float32Array of 140'
    )
    await refused('INVALID_OPTION', () => run({ ...PIXELS, label: [0] }), 'train.label: received [0]')
    await refused('SHAPE_MISMATCH', () => run({ classes: 3, label: [4, 4] }), 'model segments')
  })
})
