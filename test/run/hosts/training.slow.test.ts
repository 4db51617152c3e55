import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDataset } from '../../../src/data/open.js'
import { defineModel, flatten, linear } from '../../../src/model/layers.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { writePhotos } from '../../data/support/photos.js'
import { refused } from '../../support/codes.js'
import { alone, ends, eventsOf, SHORT, together } from './support/together.js'
import { imageFolder } from '../../../src/data/datasets.js'

describe('A run over hosts, to its end', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'arbalest-hosts-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('ends with the same weights when the learners are not as many on each host', async () => {
    const options: TrainOptions = { ...SHORT, learners: 5 }
    const hashes = await Promise.all([0, 1].map(async () => (await ends(together(options, { size: 3 })))[0]!.weightsSha256))
    expect(hashes[0]).to.equal(hashes[1])
  })

  it('goes on from a checkpoint bit by bit on as many hosts, and on another number', async () => {
    const options: TrainOptions = { ...SHORT, optimiser: { schedule: 'constant' }, until: { steps: 60 } }
    const [whole] = await ends(together(options))
    const checkpoint = { dir: join(folder, 'run') }
    await ends(together({ ...options, until: { steps: 30 }, checkpoint }))
    // The hosts but the first one need no access to the folder.
    const elsewhere = { dir: join(folder, 'nowhere') }
    const [resumed] = await ends(together({ ...options, checkpoint }, { other: { checkpoint: elsewhere } }))
    expect(resumed!.weightsSha256).to.equal(whole!.weightsSha256)
    const longer: TrainOptions = { ...options, until: { steps: 90 }, checkpoint }
    const [more] = await ends(together(longer, { size: 4 }))
    expect(more).to.include({ iterations: 90, reason: 'completed', hosts: 4 })
    expect(await alone({ ...longer, until: { steps: 100 } })).to.include({ iterations: 100, reason: 'completed' })
  })

  it('goes on from a checkpoint of owners that apply the rule on any number of hosts, and where every host applies it', async () => {
    const options: TrainOptions = {
      ...SHORT,
      synchroniser: 'ssgd',
      optimiser: { schedule: 'constant' },
      checkpoint: { dir: join(folder, 'run') }
    }
    const trained = async (steps: number, ruleAt: 'all' | 'owners', size: number) =>
      (await ends(together({ ...options, ruleAt, until: { steps } }, { size })))[0]
    await trained(20, 'owners', 2)
    expect(await trained(40, 'owners', 4)).to.include({ iterations: 40, hosts: 4, reason: 'completed' })
    expect(await trained(60, 'all', 2)).to.include({ iterations: 60, hosts: 2, reason: 'completed' })
  })

  it('streams images to the learners of each host, to the weights of as many devices of one process', async () => {
    await writePhotos(join(folder, 'train'), 30)
    await writePhotos(join(folder, 'val'), 12, 1000)
    const data = () => imageFolder(folder, { size: 16, crop: { scale: [0.6, 1] }, threads: 2 })
    const model = defineModel({ name: 'plain', input: [3, 16, 16], layers: [flatten(), linear(3)] })
    const options: TrainOptions = { ...SHORT, model, until: { steps: 40 }, evaluateEvery: 2 }
    const one = await alone({ ...options, data: await data(), devices: 2 })
    for (const learners of [4, 5]) {
      const [first, second] = await ends(together({ ...options, data: await data(), learners }))
      expect(first).to.include({ iterations: 40, hosts: 2, learners })
      expect(second!.weightsSha256).to.equal(first!.weightsSha256)
      if (learners === 4) expect(first).to.include({ weightsSha256: one.weightsSha256, testAccuracy: one.testAccuracy })
    }
  })

  it('keeps its best model on all hosts', async () => {
    const interventions = [{ round: 40, iteration: 40, kind: 'set', learningRate: 0.25 }] as const
    const jobs = together({ ...SHORT, interventions, keep: 'best', until: { steps: 60 } })
    const [first, second] = await ends(jobs)
    expect(first!.keptIteration).to.be.below(60)
    expect(second!.weightsSha256).to.equal(first!.weightsSha256)
    const [one, two] = await Promise.all(jobs.map(({ model }) => model.weights()))
    expect(two).to.deep.equal(one)
  })

  it('measures a test set of one step on the first host', async () => {
    const data = await openDataset('digits', { samples: 40 })
    const options: TrainOptions = { ...SHORT, data, learners: 3, evaluateEvery: 5 }
    const [first] = await ends(together(options, { size: 3 }))
    const { weightsSha256, testAccuracy } = await alone(options)
    expect(first).to.include({ weightsSha256, testAccuracy })
  })

  it('begins again on all hosts with lower rates when the loss is not finite', async () => {
    const onNaN = { learningRateFactor: 1e-30, retries: 1 }
    const events = await eventsOf(together({ ...SHORT, optimiser: { learningRate: 1e28 }, onNaN })[0]!)
    expect(events.map(({ event }) => event)).to.include('wentBack')
    expect(events.at(-1)).to.include({ event: 'finished', reason: 'completed' })
  })

  it('fails on all hosts with the error of the one that fails', async () => {
    const learner = new URL('../../fakes/failing-learner.js?how=start', import.meta.url)
    const jobs = together(SHORT, { learner })
    await refused('LEARNER_FAILED', () => jobs[0]!.finished, `hosts: rank 1 (${hostname()}): `, 'told to fail')
    await refused('LEARNER_FAILED', () => jobs[1]!.finished, 'told to fail')
  })
})
