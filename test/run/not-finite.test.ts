import { expect } from 'chai'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { checkpointsIn } from '../../src/checkpoints/store.js'
import { MANIFEST, readManifest, writeManifest } from '../../src/checkpoints/manifest.js'
import { openDataset } from '../../src/data/open.js'
import type { Dataset } from '../../src/data/dataset.js'
import type { JobEvent } from '../../src/observe/events.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import { train } from '../../src/run/train.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'

describe('A run whose loss is no number any more', function () {
  this.timeout(60_000)
  let data: Dataset
  before(async () => (data = await openDataset('digits', { samples: 400 })))

  const options = (more: Partial<TrainOptions>): TrainOptions => ({
    model: 'mlp',
    data,
    batch: 8,
    learners: 2,
    until: { steps: 60 },
    optimiser: { learningRate: 1e30, momentum: 0 },
    ...more
  })

  const eventsOf = async (given: TrainOptions) => {
    const events: JobEvent[] = []
    for await (const event of train(given)) events.push(event)
    return events
  }

  it('goes back to its start with a lower rate, and says so', async () => {
    const events = await eventsOf(options({ onNaN: { learningRateFactor: 2 ** -60, retries: 2 } }))
    expect(events.filter(({ event }) => event === 'started')).to.have.lengthOf(1)
    const back = events.filter((event) => event.event === 'wentBack')
    expect(back.map(({ learningRateScale, retries }) => [learningRateScale, retries])).to.deep.equal([
      [2 ** -60, 1],
      [2 ** -120, 0]
    ])
    const last = events.at(-1)!
    expect(last).to.include({ event: 'finished', iterations: 60 })
  })

  it('goes back to the newest checkpoint where there is one, and keeps the lower rate when it is resumed', async () => {
    await using folder = await Folder.make()
    const given = options({
      optimiser: { learningRate: 0.01, momentum: 0, milestones: [1000] },
      checkpoint: join(folder.path, 'run'),
      onNaN: { learningRateFactor: 0.1, retries: 1 },
      learner: new URL('../fakes/stumbling-learner.js', import.meta.url),
      learnerOptions: { stumbled: new SharedArrayBuffer(4), from: 30 }
    })
    const events = await eventsOf(given)
    const resumed = events.find((event) => event.event === 'resumed')
    expect(resumed?.iteration).to.equal(25)
    const rates = events.flatMap((event) => (event.event === 'progress' ? [event.learningRate] : []))
    expect(rates.at(-1)).to.be.closeTo(0.001, 1e-8)
    expect(events.at(-1)).to.include({ event: 'finished', iterations: 60 })
    const further = await eventsOf({ ...given, until: { steps: 70 } })
    expect(further.map(({ event }) => event)).to.not.include('wentBack')
    expect(further.find((event) => event.event === 'progress')?.learningRate).to.be.closeTo(0.001, 1e-8)
    expect(further.at(-1)).to.include({ event: 'finished', iterations: 70 })
  })

  /** Of so many rows that oneDNN runs its linear layers: kernels of our own hide nothing. */
  const hidden = (): TrainOptions =>
    options({ model: 'lenet', batch: 40, learners: 1, until: { steps: 10 }, optimiser: { name: 'adam', learningRate: 1e19 } })

  it('is found out where its loss looks sound, for a fused ReLU of the CPU takes for a zero what is no number', async () => {
    await refused(
      'LOSS_NOT_FINITE',
      () => train(hidden()).finished,
      'the central model had weights that are not finite numbers at iteration 10'
    )
    const events = await eventsOf({ ...hidden(), onNaN: { learningRateFactor: 1e-22, retries: 1 } })
    expect(events.filter(({ event }) => event === 'wentBack')).to.have.lengthOf(1)
    expect(events.at(-1)).to.include({ event: 'finished', iterations: 10 })
  })

  it('leaves no checkpoint of it', async () => {
    await using folder = await Folder.make()
    await refused('LOSS_NOT_FINITE', () => train({ ...hidden(), checkpoint: { dir: folder.path, period: 5 } }).finished, 'at iteration 5')
    expect(await checkpointsIn(folder.path)).to.deep.equal([])
  })

  /** Ends at 25 iterations, with rates of 0.01 times what it has gone back to. */
  const stumbling = (more: Partial<TrainOptions>, stumbled = 0): TrainOptions => {
    const flag = new SharedArrayBuffer(4)
    new Int32Array(flag)[0] = stumbled
    return options({
      optimiser: { learningRate: 0.01, momentum: 0, milestones: [1000] },
      onNaN: { learningRateFactor: 0.1, retries: 1 },
      learner: new URL('../fakes/stumbling-learner.js', import.meta.url),
      learnerOptions: { stumbled: flag, from: 30 },
      ...more
    })
  }
  const resumedAt = (events: readonly JobEvent[]) => events.flatMap((event) => (event.event === 'resumed' ? [event.iteration] : []))

  it('goes back to the checkpoint that it was given where it has written none, with lower rates than were recorded there', async () => {
    await using folder = await Folder.make()
    const [old, fresh] = [join(folder.path, 'old'), join(folder.path, 'fresh')]
    await eventsOf(stumbling({ checkpoint: old, until: { steps: 25 } }, 1))
    const resume = join(old, (await readdir(old)).sort().at(-1)!)
    const events = await eventsOf(stumbling({ checkpoint: { dir: fresh, resume, period: 40 } }))
    expect(resumedAt(events)).to.deep.equal([25, 25])
    expect(events.at(-1)).to.include({ event: 'finished', iterations: 60 })
    const flag = new SharedArrayBuffer(4)
    const again = await eventsOf(stumbling({ checkpoint: fresh, until: { steps: 90 }, learnerOptions: { stumbled: flag, from: 70 } }))
    const back = again.find((event) => event.event === 'wentBack')
    expect(back?.learningRateScale).to.be.closeTo(0.01, 1e-12)
    expect(again.flatMap((event) => (event.event === 'progress' ? [event.learningRate] : [])).at(-1)).to.be.closeTo(0.0001, 1e-9)
  })

  it('does not go back to a checkpoint whose model was measured to have no finite loss', async () => {
    await using folder = await Folder.make()
    await eventsOf(stumbling({ checkpoint: folder.path, until: { steps: 25 } }, 1))
    await eventsOf(stumbling({ checkpoint: folder.path, until: { steps: 28 } }, 1))
    const [older, newer] = (await readdir(folder.path)).filter((name) => name.startsWith('checkpoint-')).sort()
    const path = join(folder.path, newer!)
    const { iteration, state } = await readManifest(path)
    const { measurements, ...rest } = state as { measurements: { event: object }[] }
    const last = measurements.at(-1)!
    const lost = { ...last, event: { ...last.event, testLoss: null } }
    await rm(join(path, MANIFEST))
    await writeManifest(path, await readdir(path), { iteration, state: { ...rest, measurements: [...measurements.slice(0, -1), lost] } })
    const events = await eventsOf(stumbling({ checkpoint: folder.path }))
    expect(resumedAt(events)).to.deep.equal([28, 25])
    expect(older).to.match(/25$/)
    const resumed = events.filter((event) => event.event === 'resumed').at(-1)!
    expect(resumed.refused.map(({ reason }) => reason).join()).to.match(/test loss was not a finite number/)
    expect(events.at(-1)).to.include({ event: 'finished', iterations: 60 })
  })

  it('ends with what was not finite, when, a lower rate, and the option with which it goes on from its newest checkpoint', async () => {
    await using folder = await Folder.make()
    const { onNaN: _, ...ending } = stumbling({ checkpoint: folder.path })
    const error = await refused(
      'LOSS_NOT_FINITE',
      () => train(ending).finished,
      'received 0.01; the loss was not a finite number at iteration 3'
    )
    expect(error.message).to.include('the training has diverged: use a lower learning rate, such as 0.001')
    expect(error.message).to.include('goes on from the newest checkpoint')
    const [, factor, newest] = /--nan-lr-factor (\S+)\) goes on from the newest checkpoint, (.+), and multiplies/.exec(error.message)!
    expect(newest).to.match(/checkpoint-0+25$/)
    const events = await eventsOf(stumbling({ checkpoint: folder.path, onNaN: { learningRateFactor: Number(factor) } }))
    expect(events.find((event) => event.event === 'resumed')).to.include({ iteration: 25, folder: newest })
    expect(events.at(-1)).to.include({ event: 'finished', iterations: 60 })
  })

  it('says that there is no checkpoint yet, or that none is kept', async () => {
    await using folder = await Folder.make()
    await refused(
      'LOSS_NOT_FINITE',
      () => train(options({ checkpoint: folder.path })).finished,
      `there is no checkpoint yet in ${folder.path}: begin again`
    )
    await refused('LOSS_NOT_FINITE', () => train(options({})).finished, 'such as 0.1', 'the run keeps no checkpoint', '--checkpoint-dir')
  })

  it('tells the rate that a program has set, and not that of the options', async () => {
    const set = { kind: 'set', round: 2, iteration: 2 } as const
    const interventions = [
      { ...set, learningRate: 1e20 },
      { ...set, learningRate: { factor: 1e10 } }
    ]
    const optimiser = { learningRate: 0.01, momentum: 0 }
    await refused(
      'LOSS_NOT_FINITE',
      () => train(options({ optimiser, interventions })).finished,
      'learningRate: received 1e+30, as a program has set it; ',
      'such as 0.1'
    )
  })

  it('tells the rate that it had come to where it has gone back too often', async () => {
    await refused(
      'LOSS_NOT_FINITE',
      () => train(options({ onNaN: { learningRateFactor: 0.5, retries: 2 } })).finished,
      'received 1e+30, times 0.25 since the run went back'
    )
  })

  it('ends as it would without, once it has gone back often enough', async () => {
    await refused(
      'LOSS_NOT_FINITE',
      () => train(options({ onNaN: { learningRateFactor: 0.9, retries: 2 } })).finished,
      'lower learning rate'
    )
  })

  it('wants a share and a number of times', async () => {
    await refused('INVALID_OPTION', () => train(options({ onNaN: { learningRateFactor: 2 } })), 'onNaN.learningRateFactor')
    await refused('INVALID_OPTION', () => train(options({ onNaN: { retries: 0 } })), 'onNaN.retries')
  })
})
