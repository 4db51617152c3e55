import { expect } from 'chai'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { openDataset } from '../../src/data/open.js'
import type { Dataset } from '../../src/data/dataset.js'
import { readManifest } from '../../src/checkpoints/manifest.js'
import { measuredHere, type RunState } from '../../src/checkpoints/run-state.js'
import type { CheckpointEvent, JobEvent } from '../../src/observe/events.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import { train, trainWith } from '../../src/run/train.js'
import { copies } from '../fakes/crowded-engine.js'
import { Folder } from '../data/support/files.js'
import { eventsOf } from '../support/events.js'
import { warningsIn } from '../support/warnings.js'

/** Steps that are counted, and that wait from a number on until the test lets them go on. */
const WAITING = new URL(
  `data:text/javascript,${encodeURIComponent(`export default ({ replica, options: { steps, waitFrom } }) => async () => {
    const [count, goesOn] = [0, 1]
    const shared = new Int32Array(steps)
    if (Atomics.add(shared, count, 1) >= waitFrom)
      while (Atomics.load(shared, goesOn) === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    await replica.run(1)
  }`)}`
)

const measuredAt = (events: readonly JobEvent[]) => events.flatMap((event) => (event.event === 'evaluated' ? [event.iteration] : []))

describe('A run that is stopped where a measurement is due', function () {
  this.timeout(60_000)
  let data: Dataset
  let folder: Folder
  before(async () => (data = await openDataset('digits', { samples: 160 })))
  beforeEach(async () => (folder = await Folder.make()))
  afterEach(() => folder[Symbol.asyncDispose]())

  /** Epochs of ten iterations, which are a round. */
  const options = (more: Partial<TrainOptions>): TrainOptions => ({
    model: 'mlp',
    data,
    batch: 8,
    learners: 2,
    synchroniser: { name: 'local-sgd', period: 10 },
    until: { epochs: 3 },
    optimiser: { learningRate: 0.05, momentum: 0.9 },
    ...more
  })

  /** Stopped in the round that ends at `iteration`. As it was before the measurement there, its folder lies in `early`. */
  async function stopped(iteration: number, dir: string, early: string): Promise<CheckpointEvent[]> {
    // In the middle of the round, of which each learner has taken some steps.
    const waitFrom = 2 * (iteration - 10) + 4
    const steps = new Int32Array(new SharedArrayBuffer(8))
    const job = train(options({ learner: WAITING, learnerOptions: { steps: steps.buffer, waitFrom }, checkpoint: dir }))
    const look = setInterval(() => Atomics.load(steps, 0) > waitFrom && stop(), 5)
    const stop = () => {
      clearInterval(look)
      job.stop()
      // Answered after the synchroniser has been told to let the learners rest.
      const goOn = () => Atomics.store(steps, 1, 1)
      job.actors.synchroniser.ask.status().then(goOn, goOn)
    }
    const taken: CheckpointEvent[] = []
    job.on('checkpoint', (event) => {
      if (event.iteration === iteration && taken.push(event) === 1) cpSync(dir, early, { recursive: true })
    })
    await job.finished.finally(() => clearInterval(look))
    return taken
  }

  for (const [where, iteration] of [
    ['in the middle', 20],
    ['at the end', 30]
  ] as const)
    it(`measures there first when it goes on, and has the measured checkpoint where it was not killed before: ${where}`, async () => {
      const undisturbed = await eventsOf(train(options({})))
      expect(measuredAt(undisturbed)).to.deep.equal([10, 20, 30])
      const [dir, early] = [join(folder.path, 'run'), join(folder.path, 'early')]
      const taken = await stopped(iteration, dir, early)
      expect(taken.map(({ reason }) => reason)).to.deep.equal([null, null])
      const { state } = await readManifest(taken.at(-1)!.folder!)
      expect(measuredHere(state as RunState)?.testLoss).to.be.within(0, 10)
      for (const [checkpoint, measured] of [
        [early, [10, 20, 30].filter((each) => each >= iteration)],
        [dir, iteration === 30 ? [] : [30]]
      ] as const) {
        const resumed = await eventsOf(
          train(options({ learner: WAITING, learnerOptions: { steps: new SharedArrayBuffer(8), waitFrom: Infinity }, checkpoint }))
        )
        expect(resumed.find(({ event }) => event === 'resumed')).to.include({ iteration })
        expect(measuredAt(resumed)).to.deep.equal(measured)
        const end = undisturbed.at(-1)!
        expect(resumed.at(-1)).to.include(end.event === 'finished' && { weightsSha256: end.weightsSha256, testAccuracy: end.testAccuracy })
      }
    })

  it('goes on where a checkpoint cannot be copied, says so, and keeps nothing of it', async () => {
    const engine = new URL('../fakes/crowded-engine.js', import.meta.url)
    let events: readonly JobEvent[] = []
    const warnings = await warningsIn(async () => {
      events = await eventsOf(trainWith(options({ checkpoint: folder.path }), { engine }))
    })
    expect(warnings).to.deep.equal(['no checkpoint of iteration 10: replica: no memory for a copy of it; the run goes on'])
    const told = events.filter((event) => event.event === 'checkpoint')
    expect(told.map(({ folder: at, reason, code }) => [at, reason, code])).to.deep.equal(
      [1, 2, 3].map(() => [null, 'replica: no memory for a copy of it', 'OUT_OF_MEMORY'])
    )
    expect(events.at(-1)).to.include({ event: 'finished', iterations: 30, checkpoints: 'incomplete' })
    expect(copies.size).to.equal(0)
  })
})
