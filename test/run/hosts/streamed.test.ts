import { mkdtempSync, rmSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Dataset } from '../../../src/data/dataset.js'
import { usableCores } from '../../../src/engine/machine.js'
import { defineModel, flatten, linear } from '../../../src/model/layers.js'
import type { SampleSkippedEvent } from '../../../src/observe/events.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { Folder } from '../../data/support/files.js'
import { writePhotos } from '../../data/support/photos.js'
import { skip } from '../../support/skip.js'
import { alone, ends, together } from './support/together.js'
import { imageFolder } from '../../../src/data/datasets.js'

const SIZE = 16
const model = defineModel({ name: 'plain', input: [3, SIZE, SIZE], layers: [flatten(), linear(3)] })

describe('A run over hosts whose samples are streamed', function () {
  this.timeout(120_000)
  let folder: Folder
  let options: TrainOptions
  before(async () => {
    folder = await Folder.make()
    await writePhotos(join(folder.path, 'train'), 30)
    await writePhotos(join(folder.path, 'val'), 12, 1000)
    // Crops and flips are drawn anew for each sample and epoch.
    const data: Dataset = await imageFolder(folder.path, { size: SIZE, crop: { scale: [0.6, 1] }, threads: 1 })
    options = {
      model,
      data,
      learners: 4,
      batch: 4,
      optimiser: { learningRate: 0.05, schedule: 'constant' },
      until: { steps: 24 },
      evaluateEvery: 1,
      seed: 3
    }
  })
  after(() => folder[Symbol.asyncDispose]())

  it('ends with the weights of as many devices of one process: each host reads the samples of its own learners', async function () {
    if (usableCores() < 2) skip(this, 'two devices need two cores')
    const [first, second] = await ends(together(options))
    const { weightsSha256, testAccuracy } = await alone({ ...options, devices: 2 })
    expect(first).to.include({ weightsSha256, testAccuracy, iterations: 24, hosts: 2, learners: 4 })
    expect(second).to.deep.equal(first)
  })

  it('ends with the same weights when it is resumed within an epoch, and where the hosts have unequally many learners', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'arbalest-streamed-'))
    const unequal: TrainOptions = { ...options, learners: 3 }
    try {
      const [whole] = await ends(together(unequal))
      await ends(together({ ...unequal, until: { steps: 11 }, checkpoint: { dir } }))
      const [resumed] = await ends(together({ ...unequal, checkpoint: { dir } }))
      expect(resumed).to.include({ weightsSha256: whole!.weightsSha256, iterations: 24, learners: 3 })
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  it('tells of a sample that no host can read once, and counts those of all hosts', async () => {
    const bad = [0, 1].map((i) => join(folder.path, 'train', 'noon', `9${i}.jpg`))
    for (const path of bad) await writeFile(path, 'not an image at all')
    try {
      const data = await imageFolder(folder.path, { size: SIZE, threads: 1, onBadImage: 'skip' })
      const jobs = together({ ...options, data, until: { steps: 12 }, evaluateEvery: 10 })
      const skipped: SampleSkippedEvent[] = []
      jobs[0]!.on('sampleSkipped', (event) => void skipped.push(event))
      await ends(jobs)
      expect(skipped.map(({ item }) => item).toSorted()).to.deep.equal(bad)
      expect(skipped.map((event) => event.skipped)).to.deep.equal([1, 2])
    } finally {
      for (const path of bad) await rm(path)
    }
  })
})
