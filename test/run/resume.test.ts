import { expect } from 'chai'
import { cpSync, existsSync } from 'node:fs'
import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import { Checkpoint } from '../../src/checkpoints/checkpoint.js'
import { modelFile } from '../../src/trained/load-model.js'
import { bestSoFar } from '../../src/checkpoints/resume.js'
import { checkedState, type RunState } from '../../src/checkpoints/run-state.js'
import { checkpointsIn, holdFolder } from '../../src/checkpoints/store.js'
import { compile } from '../../src/compiler/compile.js'
import { openDataset } from '../../src/data/open.js'
import type { Dataset } from '../../src/data/dataset.js'
import { batchNorm2d, conv2d, defineModel, dropout, globalAvgPool, linear, relu } from '../../src/model/layers.js'
import type { EvaluatedEvent, FinishedEvent, JobEvent, ResumedEvent, SetAsideEvent } from '../../src/observe/events.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { loadModel } from '../../src/trained/load-model.js'
import { train, trainWith } from '../../src/run/train.js'
import { oneCycle } from '../../src/schedules/learning-rates.js'
import { makeOlder } from '../checkpoints/support/older.js'
import { Folder } from '../data/support/files.js'
import { start } from '../fakes/starting-engine.js'
import { refused } from '../support/codes.js'
import { rejection } from '../support/rejection.js'
import { itSeldom, seldom } from '../support/seldom.js'

const STARTING_ENGINE = new URL('../fakes/starting-engine.js', import.meta.url)

const model = defineModel({
  name: 'restless',
  input: [1, 28, 28],
  layers: [
    conv2d(6, 3, { stride: 2, bias: false, name: 'conv' }),
    batchNorm2d({ name: 'bn' }),
    relu(),
    globalAvgPool(),
    dropout(0.2),
    linear(10, { name: 'fc' })
  ]
})

const CASES: Record<string, Partial<TrainOptions>> = {
  'sma with momenta': { synchroniser: { name: 'sma', syncMomentum: 0.5 } },
  'ssgd under AdamW, with an average': {
    synchroniser: 'ssgd',
    optimiser: { name: 'adamw', learningRate: 0.01, schedule: 'cosine' },
    average: { name: 'ema', decay: 0.9 }
  },
  slowmo: { synchroniser: { name: 'slowmo', period: 2 } },
  'ssgd on two devices, and hosts': { devices: 2, hosts: 'loopback', levels: ['devices', 'hosts'], synchroniser: 'ssgd' },
  'a rate that drops, and a population that changes': {
    optimiser: { learningRate: 0.05, momentum: 0.9, milestones: [1] },
    learners: {
      schedule: [
        { round: 0, learners: 2 },
        { round: 11, learners: 3 },
        { round: 27, learners: 1 }
      ]
    }
  },
  ...(seldom.tested && {
    'sma every third iteration': { synchroniser: { name: 'sma', period: 3 } },
    ssgd: { synchroniser: 'ssgd' },
    'sma on two devices, with an average': { devices: 2, learners: 3, average: { name: 'ema', decay: 0.9 } },
    'a population that changes on two devices': {
      devices: 2,
      learners: {
        schedule: [
          { round: 0, learners: 1 },
          { round: 9, learners: 4 },
          { round: 27, learners: 3 }
        ]
      }
    }
  })
}

describe('A run that goes on from a checkpoint', function () {
  this.timeout(120_000)
  let data: Dataset
  let folder: Folder
  before(async () => {
    data = await openDataset('digits', { samples: 400 })
  })
  beforeEach(async () => {
    folder = await Folder.make()
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  const options = (more: Partial<TrainOptions>): TrainOptions => ({
    model,
    data,
    batch: 8,
    learners: 2,
    until: { steps: 36 },
    optimiser: { learningRate: 0.05, momentum: 0.9 },
    ...more
  })

  const run = async (given: TrainOptions) => {
    const events: JobEvent[] = []
    const job = train(given)
    for await (const event of job) events.push(event)
    return { finished: await job.finished, events }
  }

  for (const [name, more] of Object.entries(CASES)) {
    it(`ends with the weights of an undisturbed one, from ${seldom.tested ? 'every' : 'a'} checkpoint: ${name}`, async () => {
      const undisturbed = await run(options(more))
      const dir = join(folder.path, 'whole')
      const kept = await run(options({ ...more, checkpoint: { dir, period: 12, keep: 100 } }))
      expect(kept.finished.weightsSha256, 'taking checkpoints changes nothing').to.equal(undisturbed.finished.weightsSha256)
      const checkpoints = (await readdir(dir)).sort()
      // One is left out where the one before is still being written.
      expect(checkpoints.length).to.be.greaterThan(1)
      for (const [i, checkpoint] of (seldom.tested ? checkpoints : checkpoints.slice(0, 1)).entries()) {
        const part = join(folder.path, `part ${i}`)
        await cp(join(dir, checkpoint), join(part, checkpoint), { recursive: true })
        const resumed = await run(options({ ...more, checkpoint: { dir: part, period: 12 } }))
        expect(resumed.events.map(({ event }) => event)).to.include('resumed')
        expect(resumed.finished.weightsSha256, checkpoint).to.equal(undisturbed.finished.weightsSha256)
        expect(resumed.finished.iterations).to.equal(36)
        expect(resumed.finished.testAccuracy).to.equal(undisturbed.finished.testAccuracy)
      }
    })
  }

  it('goes on with another number of learners, also where these share the rate', async () => {
    const dir = join(folder.path, 'others')
    for (const synchroniser of ['sma', 'downpour'] as const) {
      const common = { synchroniser, optimiser: {}, checkpoint: { dir: join(dir, synchroniser), period: 10 } }
      await run(options({ ...common, learners: 2, until: { steps: 20 } }))
      for (const [learners, steps] of [
        [1, 30],
        [3, 40]
      ] as const) {
        const { events, finished } = await run(options({ ...common, learners, until: { steps } }))
        expect(events.map(({ event }) => event)).to.include('resumed')
        expect(finished).to.include({ learners, iterations: steps })
      }
    }
  })

  it('keeps its folder where the process changes its working directory', async () => {
    const before = process.cwd()
    try {
      process.chdir(folder.path)
      const job = train(options({ checkpoint: { dir: 'kept', period: 12 } }))
      job.once('started', () => process.chdir('/'))
      expect((await job.finished).checkpoints).to.equal('complete')
      process.chdir(folder.path)
      const resume = 'kept/checkpoint-000000000036'
      const onwards = train(options({ checkpoint: { dir: 'kept', resume }, until: { steps: 40 } }))
      process.chdir('/')
      onwards.once('resumed', (resumed) => expect(resumed.folder).to.equal(join(folder.path, resume)))
      expect(await onwards.finished).to.include({ reason: 'completed', iterations: 40 })
    } finally {
      process.chdir(before)
    }
    expect(await readdir(join(folder.path, 'kept'))).to.include('checkpoint-000000000036')
  })

  it('says that nothing is left to train where it had come to its end, and why; more of that lets it go on', async () => {
    const eventsOf = async (more: Partial<TrainOptions>) => {
      const events: JobEvent[] = []
      for await (const event of train({ model, data, learners: 1, batch: 8, seed: 1, checkpoint: join(folder.path, 'kept'), ...more }))
        events.push(event)
      return { resumed: events.find((event) => event.event === 'resumed'), finished: events.at(-1) as FinishedEvent }
    }
    const first = await eventsOf({ until: { steps: 20 } })
    expect(first.resumed).to.equal(undefined)
    const again = await eventsOf({ until: { steps: 20 } })
    expect(again.resumed).to.include({ iteration: 20, ended: 'completed' })
    expect(again.finished).to.include({ reason: 'completed', iterations: 20, weightsSha256: first.finished.weightsSha256 })
    expect((await eventsOf({ until: { steps: 90, loss: 1e9 } })).resumed).to.include({ iteration: 20, ended: 'loss' })
    const further = await eventsOf({ until: { steps: 30 } })
    expect(further.resumed).to.not.have.property('ended')
    expect(further.finished).to.include({ iterations: 30 })
  })

  it('goes on after a stop, and says so', async () => {
    const dir = join(folder.path, 'stopped')
    const more = { until: { steps: 300 }, checkpoint: { dir } }
    const undisturbed = await run(options({ until: { steps: 300 } }))
    const job = train(options(more))
    job.once('progress', () => job.stop())
    const { reason, iterations } = await job.finished
    expect(reason).to.equal('stopped')
    expect(iterations).to.be.lessThan(300)
    const { events, finished } = await run(options(more))
    expect(events.find(({ event }) => event === 'resumed')).to.include({ iteration: iterations })
    expect(finished.weightsSha256).to.equal(undisturbed.finished.weightsSha256)
    expect(events.filter(({ event }) => event === 'progress')[0])
      .to.have.property('iteration')
      .that.is.greaterThan(iterations)
  })

  it('has as much patience as if it had not been stopped', async () => {
    const checkpoint = { dir: join(folder.path, 'patient'), period: 10 }
    const still = { evaluateEvery: 1, until: { epochs: 50, patience: 3, minDelta: 1 } }
    const undisturbed = await run(options(still))
    expect(undisturbed.finished.reason).to.equal('patience')
    let stops = 0
    for (;;) {
      const job = train(options({ ...still, checkpoint }))
      if (stops < 3) job.once('progress', () => job.stop())
      const { reason, iterations } = await job.finished
      if (reason === 'stopped') stops++
      else {
        expect([stops, reason, iterations]).to.deep.equal([3, 'patience', undisturbed.finished.iterations])
        break
      }
    }
  })

  it('keeps the model that is the best in an undisturbed run, whatever was measured where it was stopped', async () => {
    const checkpoint = { dir: join(folder.path, 'best'), period: 10, keep: 1 }
    // Each step makes the model worse: the first one would be the best.
    const worsening: Partial<TrainOptions> = {
      optimiser: { learningRate: 100, schedule: 'constant', clipNorm: 0.5 },
      keep: 'best',
      evaluateEvery: 0.5,
      until: { steps: 60, monitor: 'loss' }
    }
    const undisturbed = await run(options(worsening))
    const job = train(options({ ...worsening, checkpoint }))
    job.once('started', () => job.stop())
    const stopped = await job.finished
    expect(stopped).to.include({ reason: 'stopped', keptIteration: 0 })
    expect(stopped.testLoss).to.be.lessThan(undisturbed.finished.testLoss)
    expect(await modelFile(checkpoint.dir, { best: true })).to.include('checkpoint-000000000000')
    for (const how of ['resumed', 'at its end']) {
      const { finished } = await run(options({ ...worsening, checkpoint }))
      const { keptIteration, testLoss, weightsSha256 } = undisturbed.finished
      expect(finished, how).to.include({ reason: 'completed', keptIteration, testLoss, weightsSha256 })
    }
  })

  it('keeps the model that it had kept where it has ended by a measurement that was not planned', async () => {
    const common: Partial<TrainOptions> = { keep: 'best', evaluateEvery: 10_000, checkpoint: join(folder.path, 'ended') }
    await run(options({ ...common, until: { steps: 1 } }))
    const ending: Partial<TrainOptions> = { ...common, until: { epochs: 10_000, seconds: 0.5 } }
    const { finished } = await run(options(ending))
    const { iterations: keptIteration, weightsSha256 } = finished
    expect(finished).to.include({ reason: 'seconds', keptIteration })
    expect((await run(options(ending))).finished).to.include({ reason: 'seconds', keptIteration, weightsSha256 })
  })

  it('keeps no learner in memory by what it has copied of it', async () => {
    const mark = () => {
      const handle = engine.createDataset({ count: 1, sample: [1], samples: new Uint8Array(1), labels: new Int32Array(1), classes: 1 })
      engine.release(handle)
      return handle
    }
    const isReplica = (handle: number) => {
      try {
        engine.readVector(handle, 'weights')
        return true
      } catch {
        return false
      }
    }
    const from = mark()
    const job = train(options({ learners: 3, checkpoint: { dir: join(folder.path, 'kept'), period: 5 }, until: { steps: 12 } }))
    await job.finished
    const handles = Array.from({ length: mark() - from }, (_, i) => from + i)
    // The trained model's own.
    expect(handles.filter(isReplica)).to.have.lengthOf(1)
    await job.model.weights()
  })

  it('passes over a damaged one and says which', async () => {
    const dir = join(folder.path, 'damaged')
    const checkpoint = { dir, period: 10 }
    const { finished } = await run(options({ checkpoint }))
    const newest = (await readdir(dir)).sort().at(-1)!
    const path = join(dir, newest, 'group.safetensors')
    const bytes = await readFile(path)
    bytes[bytes.length - 5]! ^= 1
    await writeFile(path, bytes)
    const again = await run(options({ checkpoint }))
    expect(again.finished.weightsSha256).to.equal(finished.weightsSha256)
    const resumed = again.events.find(({ event }) => event === 'resumed') as ResumedEvent
    expect(resumed.refused[0]!.reason).to.include('group.safetensors').and.include('sha256')
    await refused('DATA_CORRUPT', async () => {
      await writeFile(path, bytes.subarray(0, 100))
      await train(options({ checkpoint: { dir, resume: join(dir, newest) } })).finished
    })
  })

  it('is refused where no checkpoint is at the path', async () => {
    for (const resume of [join(folder.path, 'nowhere'), folder.path])
      await refused(
        'INVALID_OPTION',
        () => train(options({ checkpoint: { dir: join(folder.path, 'kept'), resume } })).finished,
        'checkpoint.resume',
        resume,
        'such as runs/lenet/checkpoint-000000000500'
      )
    await run(options({ until: { steps: 1 }, checkpoint: folder.path }))
    const checkpoint = { dir: join(folder.path, 'kept'), resume: folder.path }
    await refused('INVALID_OPTION', () => train(options({ checkpoint })).finished, join(folder.path, 'checkpoint-000000000001'))
  })

  it('begins anew where every checkpoint is damaged, says so, and keeps what it then writes', async () => {
    const dir = join(folder.path, 'all damaged')
    const checkpoint = { dir, period: 10, keep: 1 }
    await run(options({ checkpoint }))
    const damaged = await readdir(dir)
    for (const name of damaged) await writeFile(join(dir, name, 'group.safetensors'), 'damaged')
    const again = await run(options({ checkpoint, until: { steps: 20 } }))
    const told = again.events.find(({ event }) => event === 'setAside') as SetAsideEvent
    expect(told.checkpoints.map((each) => basename(each.folder))).to.have.members(damaged)
    for (const { movedTo, reason } of told.checkpoints) {
      expect(reason).to.include('group.safetensors')
      expect(await readFile(join(movedTo, 'group.safetensors'), 'utf8')).to.equal('damaged')
    }
    const onwards = await run(options({ checkpoint }))
    expect(onwards.events.find(({ event }) => event === 'resumed')).to.have.property('iteration', 20)
    expect(onwards.events.map(({ event }) => event)).to.not.include('setAside')
  })

  it('takes the way from an earlier checkpoint that it is told to take, and leaves the later ones aside', async () => {
    const dir = join(folder.path, 'back')
    const whole = await run(options({ checkpoint: { dir, period: 10, keep: 10 }, keep: 'best', evaluateEvery: 0.2 }))
    const names = (await readdir(dir)).sort()
    const begin = Number(names[1]!.slice(-12))
    const checkpoint = { dir, period: 10, keep: 1, resume: join(dir, names[1]!) }
    const until = { steps: begin + 3 }
    const back = await run(options({ checkpoint, keep: 'best', evaluateEvery: 0.2, until }))
    const told = back.events.find(({ event }) => event === 'setAside') as SetAsideEvent
    expect(told.checkpoints.map((each) => basename(each.folder))).to.deep.equal(names.slice(2).reverse())
    expect(told.checkpoints.map(({ reason }) => reason)).to.deep.equal(names.slice(2).map(() => null))
    expect(whole.finished.keptIteration).to.be.greaterThan(until.steps)
    expect(back.finished.keptIteration).to.be.at.most(until.steps)
    const auto = await run(options({ checkpoint: { dir }, keep: 'best', evaluateEvery: 0.2 }))
    expect(auto.events.find(({ event }) => event === 'resumed')).to.have.property('iteration', until.steps)
  })

  it('goes on from a checkpoint of another folder with the best model that it had there, and leaves aside what is of another run', async () => {
    const [there, here] = [join(folder.path, 'there'), join(folder.path, 'here')]
    // The rate rises until each step makes the model worse, so that an early one is the best.
    const worsening: Partial<TrainOptions> = {
      optimiser: { learningRate: oneCycle({ learningRate: 100, initialLearningRate: 0.1, risingFraction: 0.9 }), clipNorm: 0.5 },
      keep: 'best',
      evaluateEvery: 0.2,
      until: { steps: 36, monitor: 'loss' }
    }
    const undisturbed = await run(options(worsening))
    const onEvaluated = ({ iteration }: EvaluatedEvent) => (iteration === 20 ? 'stop' : undefined)
    await run(options({ ...worsening, onEvaluated, checkpoint: { dir: there, keep: 1 } }))
    // A better model, of another run.
    const another = await run(options({ evaluateEvery: 0.2, until: { steps: 10 }, checkpoint: { dir: here, keep: 10 } }))
    expect(another.finished.testLoss).to.be.lessThan(undisturbed.finished.testLoss)
    const foreign = (await readdir(here)).sort()
    const onwards = await run(options({ ...worsening, checkpoint: { dir: here, keep: 1, resume: join(there, 'checkpoint-000000000020') } }))
    const told = onwards.events.find(({ event }) => event === 'setAside') as SetAsideEvent
    expect(told.checkpoints.map((each) => basename(each.folder))).to.deep.equal(foreign.toReversed())
    const { keptIteration, testLoss, weightsSha256 } = undisturbed.finished
    expect(keptIteration).to.be.lessThan(20)
    expect(onwards.finished).to.include({ keptIteration, testLoss, weightsSha256 })
    const names = [36, keptIteration].map((iteration) => `checkpoint-${String(iteration).padStart(12, '0')}`)
    expect((await readdir(here)).sort()).to.deep.equal([...names, ...foreign.map((name) => `${name}.aside`)].sort())
    expect((await run(options({ ...worsening, checkpoint: here }))).finished).to.include({ keptIteration, testLoss, weightsSha256 })
  })

  it('takes no model for its best that another run has measured in the same folder', async () => {
    const dir = join(folder.path, 'shared')
    await run(options({ until: { steps: 20 }, checkpoint: dir }))
    const checkpoint = await Checkpoint.open(join(dir, 'checkpoint-000000000020'))
    const state = checkedState(checkpoint.folder, checkpoint.manifest.state)
    const { parameters } = compile(model, loweringBackend(engine, 'cpu', 1), {
      mode: 'train',
      batch: 8,
      precision: 'f32',
      optimiser: { momentum: 0.9 }
    })
    const found = (own: RunState) => bestSoFar({ folder: checkpoint.folder, state: own }, parameters, { monitor: undefined, ended: false })
    expect(await found(state)).to.have.property('folder', checkpoint.folder)
    const measurements = state.measurements.map(({ event, ...about }) => ({ event: { ...event, seconds: event.seconds / 2 }, ...about }))
    expect(await found({ ...state, measurements })).to.equal(undefined)
  })

  it('gives the model of a run that had finished', async () => {
    const checkpoint = join(folder.path, 'done')
    const { finished } = await run(options({ checkpoint }))
    const loaded = await (await loadModel(checkpoint)).evaluate(data)
    expect(loaded.testAccuracy).to.equal(finished.testAccuracy)
    const again = await run(options({ checkpoint }))
    expect(again.finished).to.include({ weightsSha256: finished.weightsSha256, testAccuracy: finished.testAccuracy, reason: 'completed' })
  })

  it('goes on longer where it is told to', async () => {
    const checkpoint = join(folder.path, 'longer')
    await run(options({ checkpoint, until: { steps: 20 } }))
    const { finished } = await run(options({ checkpoint, until: { steps: 30 } }))
    expect(finished.iterations).to.equal(30)
  })

  it('goes on at once where it had ended within a round, as often as it is told to', async () => {
    const synchroniser = { name: 'local-sgd', period: 16 } as const
    const until = (steps: number, checkpoint?: string) =>
      run(
        options({
          until: { steps },
          synchroniser,
          ...(checkpoint && { checkpoint }),
          optimiser: { learningRate: 0.05, milestones: [0.5, 1, 1.25] }
        })
      )
    const checkpoint = join(folder.path, 'cut')
    const first = (await until(20, checkpoint)).finished
    const same = (await until(20, checkpoint)).finished
    const of = ({ iterations, epochs, weightsSha256 }: FinishedEvent) => ({ iterations, epochs, weightsSha256 })
    expect(of(same)).to.deep.equal(of(first))
    for (const steps of [40, 50]) {
      const { finished } = await until(steps, checkpoint)
      const atOnce = (await until(steps)).finished
      // The rounds end elsewhere, and so the weights are others.
      expect(finished).to.include({ reason: 'completed', iterations: steps, epochs: atOnce.epochs })
      expect(finished.weightsSha256).not.to.equal(first.weightsSha256)
    }
    const [newest] = await checkpointsIn(checkpoint)
    const { state } = (await Checkpoint.open(newest!.folder)).manifest as { state: { cuts: unknown } }
    expect(state.cuts).to.deep.equal([
      { round: 2, iteration: 20 },
      { round: 4, iteration: 40 }
    ])
  })

  it('keeps the iteration from which post-local SGD has its period, by the run as it was planned first', async () => {
    const until = (steps: number, more: Partial<TrainOptions>) =>
      run(options({ until: { steps }, optimiser: { learningRate: 0.05, milestones: [1000] }, ...more }))
    const checkpoint = join(folder.path, 'post-local')
    const synchroniser = { name: 'post-local-sgd', period: 5 } as const
    await until(20, { synchroniser, checkpoint })
    const { finished } = await until(40, { synchroniser, checkpoint })
    const from = (10 * 2 * 8) / data.train.count
    const { finished: said } = await until(40, { synchroniser: { ...synchroniser, startEpoch: from } })
    expect(finished.weightsSha256).to.equal(said.weightsSha256)
  })

  it('goes on under post-local SGD from an older version, which kept no such iteration', async () => {
    const more = { synchroniser: { name: 'post-local-sgd', period: 5 }, checkpoint: join(folder.path, 'older') } as const
    await run(options({ ...more, until: { steps: 20 } }))
    for (const { folder: each } of await checkpointsIn(more.checkpoint)) await makeOlder(each)
    const { finished } = await run(options({ ...more, until: { steps: 43 } }))
    expect(finished).to.include({ reason: 'completed', iterations: 43, epochs: (43 * 2 * 8) / data.train.count })
  })

  it('goes on from what an older version has written', async () => {
    const checkpoint = join(folder.path, 'older')
    const longer = async (dir: string) => (await run(options({ checkpoint: dir, until: { steps: 30 } }))).finished.weightsSha256
    await run(options({ checkpoint, until: { steps: 20 } }))
    const older = join(folder.path, 'copy')
    await cp(checkpoint, older, { recursive: true })
    for (const { folder: each } of await checkpointsIn(older)) await makeOlder(each)
    expect(await longer(older)).to.equal(await longer(checkpoint))
  })

  it('refuses other mathematics, all of it at once, before any work', async () => {
    const checkpoint = join(folder.path, 'other')
    await run(options({ checkpoint }))
    const job = train(options({ checkpoint, seed: 5, batch: 4 }))
    const error = await job.finished.then(
      () => expect.fail('it went on'),
      (thrown: unknown) => thrown as Error & { code: string }
    )
    expect(error.code).to.equal('INVALID_OPTION')
    expect(error.message).to.include('seed').and.include('batch')
    await refused('INVALID_OPTION', () => train(options({ checkpoint: { dir: checkpoint, resume: 'never' } })).finished, 'earlier run')
  })

  it('looks for what to go on from only where no other run writes any more', async () => {
    const dir = join(folder.path, 'requeued')
    await run(options({ checkpoint: { dir }, until: { steps: 20 } }))
    const [newest] = await checkpointsIn(dir)
    const later = join(dir, 'checkpoint-000000000030')
    const lock = await holdFolder(dir)
    // The run before writes its last checkpoint and ends while this one is under way.
    start.begins = () => {
      cpSync(newest!.folder, later, { recursive: true })
      void lock[Symbol.asyncDispose]()
    }
    try {
      const requeued = () => trainWith(options({ checkpoint: { dir } }), { engine: STARTING_ENGINE }).finished
      await refused('INVALID_STATE', requeued, 'another run')
    } finally {
      start.begins = () => {}
      await lock[Symbol.asyncDispose]()
    }
    expect(await checkpointsIn(dir)).to.deep.equal([newest])
    // The folder is given back by runs that fail, too.
    await refused('INVALID_OPTION', () => train(options({ checkpoint: { dir }, seed: 5 })).finished, 'seed')
    const { finished } = await run(options({ checkpoint: { dir } }))
    expect(finished.iterations).to.equal(36)
  })

  it('keeps what was trained where `onEvaluated` fails', async () => {
    const dir = join(folder.path, 'watched')
    const fault = new Error('the watcher has failed')
    const onEvaluated = () => Promise.reject(fault)
    const { iterations } = await run(options({ until: { steps: 20 } })).then(({ finished }) => finished)
    expect(await rejection(train(options({ checkpoint: { dir }, until: { steps: 20 }, onEvaluated })).finished)).to.equal(fault)
    expect((await checkpointsIn(dir)).map(({ iteration }) => iteration)).to.deep.equal([iterations])
    const { finished } = await run(options({ checkpoint: { dir }, until: { steps: 20 }, onEvaluated }))
    expect(finished).to.include({ reason: 'completed', iterations })
  })

  /** The threads that the process starts, in their order, until `work` has ended. */
  const withThreads = async <T>(work: (threads: readonly Worker[]) => Promise<T>): Promise<T> => {
    const threads: Worker[] = []
    const remember = (thread: Worker) => void threads.push(thread)
    process.on('worker', remember)
    return work(threads).finally(() => process.off('worker', remember))
  }

  it('goes on to write checkpoints where the thread that writes them has ended', () =>
    withThreads(async (threads) => {
      const job = train(options({ checkpoint: join(folder.path, 'written'), evaluateEvery: 1 }))
      // The writer's is the thread that is started last.
      job.once('started', () => void threads.at(-1)!.terminate())
      const written: (number | string)[] = []
      job.on('checkpoint', ({ iteration, reason }) => void written.push(reason ?? iteration))
      await job.finished
      // Whether the first one is lost depends on whether the writer has ended when it is told to write.
      const lost = 'checkpoint writer: its thread ended with code 1 while it wrote; another one writes the next checkpoint'
      if (written[0] === lost) written[0] = 25
      expect(written).to.deep.equal([25, 36])
    }))

  itSeldom('keeps what was trained where an evaluator dies', () =>
    withThreads(async (threads) => {
      const dir = join(folder.path, 'measured')
      const job = train(options({ checkpoint: dir }))
      job.once('started', () => void threads[0]!.terminate())
      await refused('ACTOR_GONE', () => job.finished, 'evaluator 0: its thread ended with code 1', 'newest checkpoint')
      expect((await checkpointsIn(dir)).map(({ iteration }) => iteration)).to.deep.equal([25])
      const { weightsSha256 } = await train(options({ checkpoint: dir })).finished
      expect(weightsSha256).to.equal((await train(options({})).finished).weightsSha256)
    })
  )

  it('leaves no empty folder behind a run that was refused', async () => {
    const dir = join(folder.path, 'in', 'vain')
    await refused('DATA_NOT_FOUND', () => train(options({ data: 'mnist', dataDir: folder.path, checkpoint: { dir } })).finished)
    expect(existsSync(dir)).to.equal(false)
  })

  it('lets one run at a time have a folder, and needs one that can be written', async () => {
    const checkpoint = join(folder.path, 'mine')
    const first = train(options({ checkpoint, until: { steps: 100_000 } }))
    await new Promise((resolve) => first.once('progress', resolve))
    await refused('INVALID_STATE', () => train(options({ checkpoint })).finished, 'another run')
    first.stop()
    await first.finished
    await writeFile(join(folder.path, 'file'), '')
    await refused('WRITE_FAILED', () => train(options({ checkpoint: join(folder.path, 'file') })).finished, 'file')
    await rm(checkpoint, { recursive: true })
  })
})
