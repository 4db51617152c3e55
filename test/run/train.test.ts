import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { FinishedEvent, JobEvent, LearnerLostEvent } from '../../src/observe/events.js'
import type { Job } from '../../src/run/job.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import { trainWith } from '../../src/run/train.js'
import { held } from '../fakes/engine.js'
import { FAKES, tinyData, tinyModel } from '../fakes/job.js'
import { refused } from '../support/codes.js'
import { eventsOf } from '../support/events.js'
import { rejection } from '../support/rejection.js'
import { thrown } from '../support/thrown.js'
import { warningsIn } from '../support/warnings.js'

/** Two learners of batch 4 on 60 samples: 8 samples an iteration, 8 iterations an epoch. */
function start(options: Partial<TrainOptions> = {}, modules = {}): Job {
  return trainWith(
    { model: tinyModel(), data: tinyData(), learners: 2, batch: 4, until: { epochs: 2 }, ...options },
    { ...FAKES, ...modules }
  )
}

/** Long enough that it ends only by being ended. */
const ENDLESS = { until: { steps: 100_000_000 } }

const ports = () => process.getActiveResourcesInfo().filter((resource) => resource === 'MessagePort').length

describe('a training job', () => {
  it('tells its start, its progress, a measurement an epoch, and its end', async () => {
    const events = await eventsOf(start())
    expect(events.map(({ event }) => event)).to.deep.equal(['started', 'progress', 'evaluated', 'progress', 'evaluated', 'finished'])
    const [started, progress, first, , second, finished] = events as [JobEvent, JobEvent, JobEvent, JobEvent, JobEvent, FinishedEvent]
    expect(started).to.include({ model: 'tiny', data: 'tiny', learners: 2, batch: 4, parameters: 15, samples: 60, iterations: 15 })
    expect(progress).to.include({ iteration: 8, iterations: 15, learners: 2, epoch: 64 / 60 })
    expect(first).to.include({ iteration: 8, epoch: 64 / 60 })
    expect(second).to.include({ iteration: 15, epoch: 2 })
    expect(finished).to.include({ reason: 'completed', iterations: 15, epochs: 2, learners: 2 })
    expect(finished.weightsSha256).to.match(/^[0-9a-f]{64}$/)
    expect(finished.imagesPerSecond).to.be.closeTo(120 / finished.seconds, 1e-6)
    for (const event of events) expect(JSON.parse(JSON.stringify(event))).to.deep.equal(event)
  })

  it('measures every test sample once, whatever the number of evaluators', async () => {
    // The fake engine's loss is the same for every sample, so that a sample too many or too few shows in the mean.
    const { testLoss, testAccuracy } = await start().finished
    expect(testLoss).to.be.greaterThan(0)
    const right = Math.round(64 / (1 + testLoss)) + Math.round(6 / (1 + testLoss))
    expect(testAccuracy).to.equal(right / 70)
  })

  it('ends at the given step, with what is left of a round', async () => {
    const finished = await start({ until: { steps: 7, epochs: 50 }, synchroniser: { period: 3 } }).finished
    expect(finished).to.include({ iterations: 7, reason: 'completed', epochs: 56 / 60 })
  })

  it('gives the same weights for the same seed and others for another', async () => {
    const hashes = await Promise.all([1, 1, 2].map(async (seed) => (await start({ seed }).finished).weightsSha256))
    expect(hashes[0]).to.equal(hashes[1])
    expect(hashes[0]).to.not.equal(hashes[2])
  })

  it('gives every reader the events from where it began, and listeners the same', async () => {
    const job = start()
    const heard: string[] = []
    for (const name of ['started', 'progress', 'evaluated', 'finished'] as const) job.on(name, ({ event }) => void heard.push(event))
    const late: string[] = []
    job.once('evaluated', () => void eventsOf(job).then((events) => late.push(...events.map(({ event }) => event))))
    const [a, b] = await Promise.all([eventsOf(job), eventsOf(job)])
    expect(a).to.deep.equal(b)
    expect(heard).to.deep.equal(a.map(({ event }) => event))
    expect(late).to.deep.equal(['progress', 'evaluated', 'finished'])
    expect(await eventsOf(job)).to.deep.equal([])
  })

  it('holds nothing in the engine afterwards but the trained model, and no thread', async () => {
    held.clear()
    const before = ports()
    const job = start()
    await job.finished
    await sleep(20)
    expect(held.size).to.equal(1)
    expect(ports()).to.equal(before)
  })
})

describe('a learner that fails at its end', () => {
  it('is warned of, and changes nothing of the outcome', async () => {
    const source = 'export default () => ({ step: () => new Promise(() => {}), stopping() { throw new RangeError("of mine") } })'
    const learner = new URL(`data:text/javascript,${encodeURIComponent(source)}`)
    const warnings = await warningsIn(async () => {
      const job = start(ENDLESS, { learner })
      job.once('started', () => job.stop())
      expect(await job.finished).to.include({ reason: 'stopped' })
    })
    expect(warnings.toSorted()).to.deep.equal([0, 1].map((i) => `learner ${i}: its end has failed: RangeError: of mine`))
  })
})

describe('a training job that is stopped', () => {
  it('ends at its next round with the central model measured', async () => {
    const job = start(ENDLESS)
    job.once('progress', () => job.stop())
    const events = await eventsOf(job)
    expect(events.slice(-2).map(({ event }) => event)).to.deep.equal(['evaluated', 'finished'])
    const finished = events.at(-1) as FinishedEvent
    expect(finished.reason).to.equal('stopped')
    expect(finished.iterations).to.be.greaterThan(0).and.lessThan(100_000_000)
    expect(await job.model.predict(new Float32Array(4))).to.have.length(3)
  })

  it('does so for an AbortSignal, also for one that was aborted before', async () => {
    const controller = new AbortController()
    const job = start({ ...ENDLESS, signal: controller.signal })
    job.once('started', () => controller.abort())
    expect((await job.finished).reason).to.equal('stopped')
    expect(await start({ ...ENDLESS, signal: AbortSignal.abort() }).finished).to.include({
      reason: 'stopped',
      iterations: 0,
      imagesPerSecond: 0
    })
  })

  it('waits for no learner that is still starting, and has nothing then', async () => {
    const source = `export default ({ options }) => {
      Atomics.store(options, 0, 1)
      return { step() {}, started: () => new Promise((resolve) => setTimeout(resolve, 500)) } }`
    const learner = new URL(`data:text/javascript,${encodeURIComponent(source)}`)
    const begun = new Int32Array(new SharedArrayBuffer(4))
    const job = start({ ...ENDLESS, learner, learnerOptions: begun }, { learner })
    while (Atomics.load(begun, 0) === 0) await sleep(5)
    job.stop()
    expect(await job.finished).to.include({ reason: 'stopped', weightsSha256: '' })
  })

  it('is over when it is disposed of', async () => {
    let job: Job
    {
      await using disposed = start(ENDLESS)
      job = disposed
    }
    const still = new Promise((resolve) => setImmediate(resolve, 'still running'))
    expect(await Promise.race([job.finished.then(({ reason }) => reason), still])).to.equal('stopped')
  })
})

describe('a training job that fails', () => {
  for (const [how, cause] of [
    ['throw', { code: 'INTERNAL' }],
    ['exit', { code: 'ACTOR_GONE' }],
    ['reject', { name: 'RangeError' }],
    ['start', { code: 'OUT_OF_MEMORY' }]
  ] as const) {
    it(`says why within two seconds when a learner fails by ${how}, and leaves no thread`, async () => {
      held.clear()
      const before = ports()
      const learner = new URL(`../fakes/failing-learner.js?how=${how}`, import.meta.url)
      const job = start({ ...ENDLESS, supervision: { restarts: 0 } }, { learner })
      let began = performance.now()
      job.once('started', () => (began = performance.now()))
      const error = await refused('LEARNER_FAILED', () => job.finished, 'learner ')
      expect(performance.now() - began).to.be.lessThan(2000)
      expect(error.cause).to.include(cause)
      expect(await rejection(job.model.predict(new Float32Array(4)))).to.equal(error)
      expect(held.size).to.equal(0)
      // Handles are closed in the event loop's next turns.
      await sleep(20)
      expect(ports()).to.equal(before)
    })
  }

  for (const name of ['started', 'progress', 'evaluated', 'finished'] as const)
    it(`rejects with what a listener of ${name} throws, with no thread left`, async () => {
      held.clear()
      const before = ports()
      const job = start(name === 'finished' ? {} : ENDLESS)
      const mistake = new RangeError('of the listener')
      const failures: Error[] = []
      if (name === 'evaluated') job.once('progress', () => job.stop())
      job.on(name, () => {
        throw mistake
      })
      job.on('failed', (error) => void failures.push(error))
      expect(await rejection(eventsOf(job))).to.equal(mistake)
      expect(await rejection(job.finished)).to.equal(mistake)
      expect(failures).to.deep.equal([mistake])
      await sleep(20)
      expect(ports()).to.equal(before)
    })

  it('keeps its cause where a listener of the failure throws, too, and tells the other listeners', async () => {
    const learner = new URL('../fakes/failing-learner.js?how=born', import.meta.url)
    const job = start(ENDLESS, { learner })
    const failures: Error[] = []
    job.on('failed', () => {
      throw new RangeError('of the listener')
    })
    job.on('failed', (error) => void failures.push(error))
    const error = await refused('LEARNER_FAILED', () => job.finished)
    expect(failures).to.deep.equal([error])
  })

  it('rejects with what a listener throws at the loss of a learner', async () => {
    const learner = new URL('../fakes/failing-learner.js?how=throw', import.meta.url)
    const job = start({ ...ENDLESS, learners: 1 }, { learner })
    const mistake = new RangeError('of the listener')
    job.on('learnerLost', () => {
      throw mistake
    })
    expect(await rejection(job.finished)).to.equal(mistake)
  })

  it('names the iteration and the rate when the loss is not finite', async () => {
    const job = start({ ...ENDLESS, optimiser: { learningRate: 1e30 } })
    const error = await refused('LOSS_NOT_FINITE', () => job.finished, 'iteration', 'lower learning rate', '1e+30')
    expect(error.data['iteration']).to.be.greaterThan(0).and.lessThan(100)
  })

  it('says how many learners would fit into memory', async () => {
    const engine = new URL('../fakes/small-engine.js', import.meta.url)
    const error = await refused('OUT_OF_MEMORY', () => start({ learners: 16 }, { engine }).finished, 'learners: received 16', 'at most')
    const { perLearner, shared, free } = error.data as { perLearner: number; shared: number; free: number }
    const most = Number(/at most (\d+)/.exec(error.message)![1])
    expect(most * perLearner + shared).to.be.at.most(free)
    expect((most + 1) * perLearner + shared).to.be.greaterThan(free)
  })

  it('refuses a precision that the processor lacks', async () => {
    await refused('UNSUPPORTED_PRECISION', () => start({ precision: 'bf16' }).finished, 'bf16', 'f32')
  })

  it('refuses data that does not suit the model', async () => {
    await refused('SHAPE_MISMATCH', () => start({ model: 'lenet' }).finished, 'conv1')
    await refused('SHAPE_MISMATCH', () => start({ model: { ...tinyModel(), input: [1, 3, 3] } }).finished, '[1,2,2]', '[1,3,3]')
    const { train: training, test: testing, ...about } = tinyData()
    const fourClasses = { ...about, classes: 4, train: { ...training, classes: 4 }, test: { ...testing, classes: 4 } }
    await refused('SHAPE_MISMATCH', () => start({ data: fourClasses }).finished, '4 classes')
    await refused('DATA_NOT_FOUND', () => start({ data: 'mnist', dataDir: '/nowhere' }).finished, '/nowhere')
  })

  it('does so with the defaults too where every learner fails at once', async () => {
    const learner = new URL('../fakes/failing-learner.js?how=born', import.meta.url)
    const job = start(ENDLESS, { learner })
    const lost: LearnerLostEvent[] = []
    job.on('learnerLost', (event) => void lost.push(event))
    const began = new Promise<number>((resolve) => job.once('started', () => resolve(performance.now())))
    const error = await refused('LEARNER_FAILED', () => job.finished, 'before its first step')
    expect(performance.now() - (await began)).to.be.lessThan(2000)
    expect(error.cause).to.be.instanceOf(SyntaxError)
    expect(lost.filter(({ replacedBy }) => replacedBy === null)).to.have.length.within(1, 2)
  })

  it('gives up who dies twice before a first step, however many restarts there may be', async () => {
    const learner = new URL('../fakes/failing-learner.js?how=born', import.meta.url)
    const job = start({ ...ENDLESS, learners: 1, supervision: { restarts: 100 } }, { learner })
    const lost: LearnerLostEvent[] = []
    job.on('learnerLost', (event) => void lost.push(event))
    await refused('LEARNER_FAILED', () => job.finished, 'two failures before a first step')
    expect(lost.map((event) => [event.learner, event.replacedBy])).to.deep.equal([
      [0, 1],
      [1, null]
    ])
  })

  it('says the first cause and the last where replacing does not help', async () => {
    const learner = new URL('../fakes/failing-learner.js?how=throw', import.meta.url)
    const job = start({ ...ENDLESS, learners: 1, supervision: { restarts: 2 } }, { learner })
    const lost: LearnerLostEvent[] = []
    job.on('learnerLost', (event) => void lost.push(event))
    const { cause, data } = await refused('LEARNER_FAILED', () => job.finished, 'the first in its place', '2 restarts')
    expect(cause).to.include({ code: 'INTERNAL' })
    const told = /^learner: told to fail \(at .*failing-learner\.[jt]s:\d+\)$/
    expect(data).to.include({ learner: 2, rank: 0 })
    for (const each of [data['first'], data['last']]) expect(each).to.match(told)
    expect(lost.map((event) => [event.learner, event.replacedBy])).to.deep.equal([
      [0, 1],
      [1, 2],
      [2, null]
    ])
  })

  it('throws at its readers, tells its listeners, and troubles nobody else', async () => {
    const learner = new URL('../fakes/failing-learner.js?how=throw', import.meta.url)
    const job = start({ ...ENDLESS, supervision: { restarts: 0 } }, { learner })
    const failed = new Promise((resolve) => job.once('failed', resolve))
    const error = await rejection(eventsOf(job))
    expect(error).to.have.property('code', 'LEARNER_FAILED')
    expect(await failed).to.equal(error)
    expect(await rejection(eventsOf(job))).to.equal(error)
  })
})

describe('options of a training job', () => {
  const bad: readonly [parameter: string, options: object, code?: string][] = [
    ['batch', { batch: 0 }],
    ['batch', { batch: 1.5 }],
    ['batch', { batch: '16' }],
    ['learners', { learners: 0 }],
    ['learners', { learners: 1e9 }],
    ['threads', { threads: 0 }],
    ['seed', { seed: -1 }],
    ['optimiser.learningRate', { optimiser: { learningRate: 0 } }],
    ['optimiser.learningRate', { optimiser: { learningRate: NaN } }],
    ['optimiser.momentum', { optimiser: { momentum: 1 } }],
    ['optimiser.weightDecay', { optimiser: { weightDecay: -1 } }],
    ['optimiser.decay', { optimiser: { decay: 0 } }],
    ['optimiser.nesterov', { optimiser: { nesterov: true, momentum: 0 } }],
    ['optimiser.milestones', { optimiser: { milestones: [3, 2] } }],
    ['optimiser.speed', { optimiser: { speed: 1 } }],
    ['optimiser', { optimiser: 0.1 }],
    ['until', { until: 5 }],
    ['synchroniser.alpha', { synchroniser: { alpha: 0.9 } }],
    ['synchroniser.period', { synchroniser: { period: 0 } }],
    ['synchroniser.name', { synchroniser: { name: 'gossip' } }, 'UNKNOWN_NAME'],
    ['until.epochs', { until: { epochs: 0 } }],
    ['until.steps', { until: { steps: 2.5 } }],
    ['model', { model: 'lenin' }, 'UNKNOWN_NAME'],
    ['model', { model: 7 }],
    ['data', { data: 'mnits' }, 'UNKNOWN_NAME'],
    ['precision', { precision: 'f16' }, 'UNKNOWN_NAME'],
    ['backend', { backend: 'tpu' }, 'UNKNOWN_NAME'],
    ['signal', { signal: 1 }],
    ['learner', { learner: 7 }],
    ['learner', { learner: './no-such-learner.js' }],
    ['learnerOptions', { learnerOptions: { on: () => 1 } }],
    ['supervision.restarts', { supervision: { restarts: -1 } }],
    ['supervision.window', { supervision: { window: 0 } }],
    ['supervision.deadline', { supervision: { deadline: Infinity } }],
    // A learner tells of its steps every 50 ms.
    ['supervision.deadline', { supervision: { deadline: 60 } }],
    ['supervision.patience', { supervision: { patience: 1 } }],
    ['lerners', { lerners: 2 }]
  ]
  for (const [parameter, options, code = 'INVALID_OPTION'] of bad) {
    it(`refuses ${JSON.stringify(options)} at once`, () => {
      const error = thrown(() => start(options))
      expect(error.code).to.equal(code)
      expect(error.message).to.match(new RegExp(`^${parameter}: received `))
    })
  }
})

describe('the trained model', () => {
  it('answers for any number of samples, normalised as in training', async () => {
    const data = { ...tinyData(), mean: [0.5], std: [0.25] }
    const job = start({ data })
    // The fake engine answers with the first number of each normalised sample, plus the class.
    const floats = Float32Array.from({ length: 4 * 100 }, (_, i) => Math.floor(i / 4) / 100)
    const outputs = await job.model.predict(floats)
    expect(outputs).to.have.length(300)
    for (const i of [0, 63, 64, 99]) expect(outputs[3 * i + 2]).to.be.closeTo((i / 100 - 0.5) / 0.25 + 2, 1e-5)
    expect((await job.model.predict(new Uint8Array(4).fill(255)))[0]).to.equal(2)
    expect(await job.model.predict(new Float32Array(0))).to.have.length(0)
    await refused('INVALID_OPTION', () => job.model.predict(new Float32Array(5)), 'samples')
    await refused('INVALID_OPTION', () => job.model.predict([1, 2, 3, 4] as never), 'samples')
  })
})
