import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { ImageFolderOptions } from '../../src/data/images/image-options.js'
import type { Dataset } from '../../src/data/dataset.js'
import { batchNorm2d, conv2d, defineModel, flatten, globalAvgPool, linear, maxPool2d, relu } from '../../src/model/layers.js'
import type { FinishedEvent, JobEvent } from '../../src/observe/events.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import { train } from '../../src/run/train.js'
import { Folder } from '../data/support/files.js'
import { PHOTO_CLASSES, writePhotos } from '../data/support/photos.js'
import { refused } from '../support/codes.js'
import { itSeldom } from '../support/seldom.js'
import { openDataForModel } from '../../src/data/data-for-model.js'
import { datasetFromArrays } from '../../src/data/from-arrays.js'
import { imageFolder } from '../../src/data/datasets.js'
import { loadModel } from '../../src/trained/load-model.js'

const SIZE = 16
const GENTLE: ImageFolderOptions = { size: SIZE, crop: { scale: [0.6, 1] }, threads: 2 }

const model = defineModel({
  name: 'small',
  input: [3, SIZE, SIZE],
  layers: [
    conv2d(8, 3, { padding: 1 }),
    batchNorm2d(),
    relu(),
    maxPool2d(2),
    conv2d(16, 3, { padding: 1 }),
    relu(),
    globalAvgPool(),
    linear(3)
  ]
})
const plain = defineModel({ name: 'plain', input: [3, SIZE, SIZE], layers: [flatten(), linear(3)] })

async function trained(options: Partial<TrainOptions>): Promise<{ events: JobEvent[]; finished: FinishedEvent }> {
  const job = train({ model, learners: 2, batch: 8, optimiser: { learningRate: 0.05 }, until: { epochs: 4 }, seed: 3, ...options })
  const events: JobEvent[] = []
  for await (const event of job) events.push(event)
  return { events, finished: await job.finished }
}

describe('Training on a folder of images', function () {
  this.timeout(120_000)
  let folder: Folder
  let photos: Dataset
  before(async () => {
    folder = await Folder.make()
    await writePhotos(join(folder.path, 'train'), 30)
    await writePhotos(join(folder.path, 'val'), 12, 1000)
    photos = await imageFolder(folder.path, GENTLE)
  })
  after(() => folder[Symbol.asyncDispose]())

  it('reaches a high accuracy on images that it never saw', async () => {
    const { events, finished } = await trained({ data: photos, until: { epochs: 10 } })
    expect(finished.testAccuracy).to.be.at.least(0.95)
    const progress = events.filter((event) => event.event === 'progress')
    expect(progress).to.not.deep.equal([])
    for (const { dataWait } of progress) expect(dataWait).to.be.within(0, 1)
  })

  it('keeps how the images that it was measured on were cropped, in a file and in a checkpoint', async () => {
    await using place = await Folder.make()
    const [file, checkpoint] = [join(place.path, 'm.safetensors'), join(place.path, 'run')]
    const data = await imageFolder(folder.path, { ...GENTLE, resize: 20 })
    const job = train({ model: plain, data, learners: 1, batch: 8, until: { steps: 2 }, checkpoint })
    await job.finished
    await job.model.save(file)
    const models = [await loadModel(file), await loadModel(checkpoint)]
    expect(models.map(({ encoding }) => encoding)).to.deep.equal(models.map(() => ({ kind: 'image', resize: 20 })))
    const { testAccuracy, testLoss } = await models[0]!.evaluate(await openDataForModel(folder.path, models[0]!))
    expect(await job.model.evaluate(data)).to.include({ testAccuracy, testLoss })
  })

  it('gives the same weights however many threads decode, and however far ahead', async () => {
    const until = { epochs: 2 }
    const hashes: string[] = []
    for (const feed of [
      { threads: 1, prefetch: 1 },
      { threads: 3, prefetch: 8, cache: 0 }
    ])
      hashes.push((await trained({ data: await imageFolder(folder.path, { ...GENTLE, ...feed }), until })).finished.weightsSha256)
    expect(hashes[0]).to.equal(hashes[1])
    const otherSeed = await trained({ data: photos, until, seed: 4 })
    expect(otherSeed.finished.weightsSha256).to.not.equal(hashes[0])
  })

  it('goes on from a checkpoint with the batches that it would have had', async () => {
    await using elsewhere = await Folder.make()
    const checkpoint = elsewhere.path
    const options = { data: photos, optimiser: { learningRate: 0.05, milestones: [100] } }
    const undisturbed = await trained({ ...options, until: { epochs: 3 } })
    await trained({ ...options, until: { steps: 8 }, checkpoint })
    const { events, finished } = await trained({ ...options, until: { epochs: 3 }, checkpoint })
    expect(events.find((event) => event.event === 'resumed')?.iteration).to.equal(8)
    expect(finished.weightsSha256).to.equal(undisturbed.finished.weightsSha256)
  })

  it('takes the folder by its path, any number of images and any batch', async () => {
    const { events, finished } = await trained({ model: plain, data: folder.path, images: GENTLE, batch: 7, until: { steps: 9 } })
    expect(events[0]).to.include({ event: 'started', samples: 30 * PHOTO_CLASSES.length })
    expect(finished.iterations).to.equal(9)
  })

  it('mixes the images of a batch, on the CPU and on a device alike', async () => {
    const lossOf = async (options: Partial<TrainOptions>): Promise<number> => {
      const run = { model: plain, data: photos, batch: 7, learners: 1, until: { steps: 12 } }
      return (await trained({ ...run, ...options })).finished.testLoss
    }
    const mixing = { mixup: 0.4, cutmix: 1 }
    const [alone, mixed, onDevice] = [await lossOf({}), await lossOf(mixing), await lossOf({ ...mixing, backend: 'cuda-host' as 'cuda' })]
    expect(mixed).to.be.greaterThan(alone * 1.001)
    expect(onDevice / mixed).to.be.closeTo(1, 1e-4)
    const data = { ...photos, augmentation: { ...photos.augmentation, ...mixing } }
    expect(await lossOf({ data })).to.equal(mixed)
  })

  it('cuts squares out, and refuses those that are larger than the images', async () => {
    const run = { model: plain, data: photos, learners: 1, until: { steps: 4 } }
    const [whole, cut] = await Promise.all(
      [{}, { cutout: 4 }].map(async (options) => (await trained({ ...run, ...options })).finished.weightsSha256)
    )
    expect(cut).to.not.equal(whole)
    await refused('INVALID_OPTION', () => trained({ data: photos, cutout: 17 }), 'cutout: received 17; use at most 16')
  })

  it('refuses to mix what has no pairs, or is no image of one class', async () => {
    await refused('INVALID_OPTION', () => trained({ data: photos, batch: 1, mixup: 1 }), 'mixup: received 1; use a batch of at least 2')
    const features = datasetFromArrays({ sample: [2], samples: new Float32Array(40), labels: new Int32Array(20), classes: 2 })
    await refused(
      'INVALID_OPTION',
      () => trained({ model: 'mlp', data: features, cutmix: 1 }),
      'cutmix: received 1',
      'are no images (C, H, W)'
    )
    const pixels = { sample: [3, 2, 2], samples: new Uint8Array(240), label: [2, 2], labels: new Int32Array(80), classes: 2 }
    await refused('INVALID_OPTION', () => trained({ data: datasetFromArrays(pixels), mixup: 1 }), 'mixup: received 1', 'each pixel')
    const masks = { sample: [3, 2, 2], samples: new Uint8Array(240), target: [1, 2, 2], targets: new Float32Array(80) }
    await refused('INVALID_OPTION', () => trained({ data: datasetFromArrays(masks), cutmix: 1 }), 'cutmix: received 1', 'are images too')
  })

  itSeldom('goes on from a checkpoint with the very batches that a run in one piece has', async () => {
    await using place = await Folder.make()
    const run = { data: photos, optimiser: { learningRate: 0.05, milestones: [100] }, checkpoint: { dir: join(place.path, 'run') } }
    const until = { steps: 24 }
    const whole = await trained({ ...run, checkpoint: { dir: join(place.path, 'whole') }, until })
    await trained({ ...run, until: { steps: 12 } })
    const resumed = await trained({ ...run, until })
    expect(resumed.events.some(({ event }) => event === 'resumed')).to.equal(true)
    expect(resumed.finished.weightsSha256).to.equal(whole.finished.weightsSha256)
  })

  it('needs no more than an image of each class', async () => {
    await using few = await Folder.make()
    await writePhotos(join(few.path, 'train'), 1)
    await writePhotos(join(few.path, 'test'), 1, 5)
    const { finished } = await trained({ model: plain, data: few.path, images: GENTLE, until: { steps: 6 } })
    expect(finished.epochs).to.equal((6 * 2 * 8) / 3)
  })

  it('refuses flips in every other epoch, which a batch knows nothing of', async () => {
    const data: Dataset = { ...photos, augmentation: { padding: 0, flip: 'alternate' } }
    await refused('INVALID_OPTION', () => trained({ data }), 'augmentation.flip', 'alternate')
  })

  it('stops where it is told, with the feeder in the middle of its work', async () => {
    const job = train({ model, data: photos, learners: 2, batch: 8, until: { epochs: 1000 } })
    for await (const event of job) if (event.event === 'progress') job.stop()
    expect((await job.finished).reason).to.equal('stopped')
  })

  describe('with a file that is no image', () => {
    let bad: string
    before(async () => {
      bad = join(folder.path, 'train', 'noon', '0031.jpg')
      await writeFile(bad, 'not an image at all')
    })
    after(() => rm(bad))

    it('fails with its name, soon', async () => {
      const data = await imageFolder(folder.path, GENTLE)
      const start = performance.now()
      await refused(
        'DATA_CORRUPT',
        () => trained({ data }),
        bad,
        'unsupported image format',
        "onBadImage: 'skip' (--on-bad-image skip), samples of your own with feed: { onBadSample: 'skip' }"
      )
      expect(performance.now() - start).to.be.below(20_000)
    })

    it('passes it over where it may, and says so once', async () => {
      const { events, finished } = await trained({
        data: await imageFolder(folder.path, { ...GENTLE, onBadImage: 'skip' }),
        until: { epochs: 3 }
      })
      const skipped = events.filter((event) => event.event === 'sampleSkipped')
      expect(skipped).to.have.length(1)
      expect(skipped[0]).to.include({ item: bad, skipped: 1 })
      expect(finished.reason).to.equal('completed')
    })

    it('is told before anything is trained, where every image is looked at', async () => {
      await refused('DATA_CORRUPT', () => imageFolder(folder.path, { ...GENTLE, check: true }), bad)
      const { train: kept } = await imageFolder(folder.path, { ...GENTLE, check: true, onBadImage: 'skip' })
      expect(kept.count).to.equal(30 * PHOTO_CLASSES.length)
    })

    it('ends where it is stopped while every image is looked at, and does not look at the others first', async () => {
      const job = train({ model: plain, data: folder.path, images: { ...GENTLE, check: true } })
      // The first thread that reads images.
      process.once('worker', () => job.stop())
      expect((await job.finished).reason).to.equal('stopped')
    })
  })
})
