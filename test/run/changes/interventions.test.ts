import { expect } from 'chai'
import { actorsAt, type CentralMeasurement, type CentralModel } from '../../../src/actors/index.js'
import type { FloatTensors } from '../../../src/formats/tensor.js'
import { openDataset } from '../../../src/data/open.js'
import { batchNorm2d, conv2d, defineModel, flatten, linear } from '../../../src/model/layers.js'
import { checkpointsIn } from '../../../src/checkpoints/store.js'
import type { Dataset } from '../../../src/data/dataset.js'
import { loadModel } from '../../../src/trained/load-model.js'
import { mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { IntervenedEvent } from '../../../src/observe/events.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import type { Job } from '../../../src/run/job.js'
import { train } from '../../../src/run/train.js'
import type { Intervention } from '../../../src/schedules/interventions.js'
import { refused } from '../../support/codes.js'
import { rejection } from '../../support/rejection.js'
import { atRest, manyRounds, someRoundsLater, talkedTo, trainManyRounds } from '../support/talked-to.js'

const WARM_LEARNER = new URL('../../fakes/warm-learner.js', import.meta.url)

/** What programs may change, each in a few rounds' distance. */
const CHANGES: Record<string, (job: Job) => Promise<unknown>> = {
  'a constant learning rate': ({ actors }) => actors.synchroniser.ask.set({ learningRate: 0.003 }),
  'a factor of the learning rate': ({ actors }) => actors.synchroniser.ask.set({ learningRate: { factor: 0.25 } }),
  'alpha, momentum and period': ({ actors }) => actors.synchroniser.ask.set({ alpha: 0.2, momentum: 0.4, period: 3 }),
  'more learners': ({ actors }) => actors.supervisor.ask.resize(3),
  'fewer learners': ({ actors }) => actors.supervisor.ask.resize(1),
  'another learner in a place': ({ actors }) => actors.supervisor.ask.replace(0),
  'a measurement': ({ actors }) => actors.evaluator.ask.measure()
}

describe('a run that a program changes', () => {
  for (const [what, change] of Object.entries(CHANGES))
    it(`is repeated bit for bit with its interventions: ${what}`, async () => {
      const events: IntervenedEvent[] = []
      const finished = await talkedTo({}, async (job) => {
        job.on('intervened', (event) => void events.push(event))
        await someRoundsLater(job, 50)
        await change(job)
        await someRoundsLater(job, 50)
        await change(job)
        await someRoundsLater(job, 50)
      })
      const until = { steps: finished.iterations }
      expect(finished.interventions).to.have.length(2)
      expect(events.map(({ intervention }) => intervention)).to.deep.equal(finished.interventions)
      const repeated = await (await trainManyRounds({ until, interventions: throughJson(finished.interventions!) })).finished
      expect(repeated.weightsSha256).to.equal(finished.weightsSha256)
      expect(repeated.interventions).to.deep.equal(finished.interventions)
      const undisturbed = await (await trainManyRounds({ until })).finished
      if (what === 'a measurement') expect(undisturbed.weightsSha256).to.equal(finished.weightsSha256)
      else expect(undisturbed.weightsSha256).to.not.equal(finished.weightsSha256)
      expect(undisturbed).to.not.have.property('interventions')
    })

  it('goes on, a round at least between two rests, however fast programs pause it', async () => {
    const job = await trainManyRounds({ until: { steps: 200 } })
    let rests = 0
    const pauseAgain = async (): Promise<void> => {
      while (true) {
        // The next pause is asked for before this one has been lifted.
        const paused = [job.actors.synchroniser.ask.pause(), job.actors.synchroniser.ask.pause()]
        rests++
        await Promise.all(paused)
        await job.actors.synchroniser.ask.resume()
      }
    }
    const senders = [1, 2, 3].map(() => rejection(pauseAgain()))
    expect((await job.finished).iterations).to.equal(200)
    for (const end of await Promise.all(senders)) expect(end).to.have.property('code', 'ACTOR_GONE')
    expect(rests).above(20)
  })

  it('is the run of other options from its beginning if it is changed before its first round', async () => {
    const changed = await trainManyRounds({ learners: 3, synchroniser: { period: 2 }, until: { steps: 300 } })
    const options: Partial<TrainOptions> = { learners: 2, until: { steps: 300 } }
    const job = await trainManyRounds(options)
    const { supervisor, synchroniser } = job.actors
    await Promise.all([supervisor.ask.resize(3), synchroniser.ask.set({ period: 2 })])
    const finished = await job.finished
    expect(finished.interventions?.map(({ kind, round }) => [kind, round])).to.deep.equal([
      ['resize', 0],
      ['set', 0]
    ])
    expect(finished.weightsSha256).to.equal((await changed.finished).weightsSha256)
    expect(finished.iterations).to.equal(300)
    expect(finished.population).to.deep.equal([{ round: 0, learners: 3 }])
  })

  it('goes on from a checkpoint to the bits of the run that was not interrupted', async () => {
    const learnerOptions = { temperature: 1 }
    const options = { learner: WARM_LEARNER, learnerOptions }
    const disturb = async (job: Job) => {
      await atRest(job, 60, async () => {
        await job.actors.synchroniser.ask.set({ learningRate: { factor: 0.5 }, period: 2, momentum: 0.3 })
        await job.actors.learner<{ warm(by: number): number }>(1).ask.warm(0.25)
        await job.actors.supervisor.ask.resize(3)
      })
      await atRest(job, 40, () => job.actors.supervisor.ask.replace(1))
      await job.actors.learner<{ warm(by: number): number }>(2).ask.warm(0.5)
      await someRoundsLater(job, 20)
    }
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-talk-'))
    try {
      const { interventions, iterations: before } = await talkedTo({ ...options, checkpoint: { dir: folder } }, disturb)
      expect(interventions?.map(({ kind }) => kind)).to.deep.equal(['pause', 'set', 'message', 'resize', 'pause', 'replace', 'message'])

      const iterations = before + 200
      const whole = { ...options, until: { steps: iterations } }
      const resumed = await (await trainManyRounds({ ...whole, checkpoint: { dir: folder } })).finished
      const repeated = await (await trainManyRounds({ ...whole, interventions: interventions! })).finished
      expect(resumed.interventions).to.deep.equal(interventions)
      expect(resumed).to.include({ iterations, weightsSha256: repeated.weightsSha256, learners: 3 })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('whose tuner a program has turned off and on is repeated by the population that came of it, also from a checkpoint', async () => {
    const schedule = [
      { round: 0, learners: 2 },
      { round: 60, learners: 3 },
      { round: 120, learners: 1 }
    ]
    // The tuner's decision of round 120 is known of the schedule alone.
    const interventions: readonly Intervention[] = [
      { kind: 'tuning', on: false, round: 30, iteration: 30 },
      { kind: 'resize', learners: 3, round: 60, iteration: 60 },
      { kind: 'tuning', on: true, round: 90, iteration: 90 }
    ]
    const options = { until: { steps: 200 }, learners: { schedule } }
    const { weightsSha256 } = await (await trainManyRounds(options)).finished
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-talk-'))
    try {
      const checkpoint = { dir: folder, period: 75, keep: 10 }
      const repeated = await (await trainManyRounds({ ...options, interventions, checkpoint })).finished
      expect(repeated).to.deep.include({ weightsSha256, population: schedule, interventions })
      for (const { folder: resume } of (await checkpointsIn(folder)).slice(1)) {
        const resumed = await (await trainManyRounds({ ...options, interventions, checkpoint: { dir: folder, resume } })).finished
        expect(resumed, resume).to.deep.include({ weightsSha256, population: schedule, interventions })
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('keeps the number of learners that it was given where it goes on, without a tuner', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-talk-'))
    try {
      const options = { learners: { initial: 2, max: 2, window: 0.01 }, checkpoint: { dir: folder } }
      const job = await trainManyRounds({ ...options, until: { steps: 100 } })
      await job.actors.supervisor.ask.resize(3)
      await job.finished
      const resumed = await trainManyRounds({ ...options, until: { steps: 1000 } })
      const decisions: unknown[] = []
      resumed.on('population', (event) => void decisions.push(event))
      expect(await resumed.finished).to.deep.include({ iterations: 1000, population: [{ round: 0, learners: 3 }] })
      expect(decisions).to.deep.equal([])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('goes on with another number of learners where it is given one, though a program had set theirs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-talk-'))
    const goesOn = async (learners: TrainOptions['learners'] & {}, steps: number) => {
      const options = { learners, until: { steps }, checkpoint: { dir: folder } }
      const { population, interventions } = await (await trainManyRounds(options)).finished
      expect(interventions!.at(-1)!.kind).to.equal(typeof learners === 'number' ? 'resize' : 'tuning')
      return population.map((change) => [change.round, change.learners])
    }
    try {
      const job = await trainManyRounds({ until: { steps: 100 }, checkpoint: { dir: folder } })
      await job.actors.supervisor.ask.resize(3)
      await job.finished
      expect(await goesOn(2, 200)).to.deep.equal([[0, 3]])
      const fewer = [
        [0, 3],
        [200, 1]
      ]
      expect(await goesOn(1, 300)).to.deep.equal(fewer)
      expect(await goesOn(1, 400)).to.deep.equal(fewer)
      expect(await goesOn(2, 500)).to.deep.equal([...fewer, [400, 2]])
      expect(await goesOn({ initial: 1, max: 2, window: 100 }, 600)).to.deep.equal([...fewer, [400, 2]])
      expect(await goesOn(1, 700)).to.deep.equal([...fewer, [400, 2], [600, 1]])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('is refused more learners than its averaging is stable with, at once, later and where it goes on, and reports that its rounds are too long for', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-talk-'))
    try {
      const options = { checkpoint: { dir: folder } }
      const finished = await talkedTo(options, async ({ actors }) => {
        await actors.synchroniser.ask.set({ alpha: 0.6 })
        const resized = () => actors.supervisor.ask.resize(4)
        await refused('INVALID_OPTION', resized, 'learners: received 4', 'averaging is stable below 0.4000, and alpha is 0.6')
        await actors.synchroniser.ask.pause()
        await actors.synchroniser.ask.set({ period: 60_000 })
      })
      expect(finished).to.deep.include({ population: [{ round: 0, learners: 2 }] })
      const until = { steps: finished.iterations + 100 }
      const resumed = async () => (await trainManyRounds({ ...options, until, learners: 4 })).finished
      await refused(
        'INVALID_OPTION',
        resumed,
        'learners: received 4',
        'stable below 0.4000, and alpha is 0.6',
        'since a program has changed it'
      )
      const reported = async () => (await trainManyRounds({ ...options, until, logEvery: 10 })).finished
      await refused('INVALID_OPTION', reported, 'logEvery: received 10', 'synchroniser.period is 60000')
    } finally {
      rmSync(folder, { recursive: true })
    }
    const schedule = [
      { round: 0, learners: 2 },
      { round: 900, learners: 4 }
    ]
    const job = await trainManyRounds({ learners: { schedule } })
    const set = () => job.actors.synchroniser.ask.set({ alpha: 0.6 })
    await refused('INVALID_OPTION', set, 'alpha: received 0.6', 'with 4 learners averaging is stable below 0.4000')
    expect((await job.finished).interventions).to.equal(undefined)
  })

  it('calls the public methods of a learner’s class between two rounds', async () => {
    const options = { learner: WARM_LEARNER, learnerOptions: { temperature: 1 } }
    const finished = await talkedTo(options, async ({ actors }) => {
      const [first, second] = actors.learners<{ warm(by: number): number; weigh(values: Float32Array): number; fail(): void }>()
      expect(await first!.ask.warm(0.5)).to.equal(1.5)
      expect(await second!.ask.warm(0.25)).to.equal(1.25)
      expect(await first!.ask.warm(0.5)).to.equal(2)
      expect(await second!.ask.weigh(Float32Array.of(1, 2))).to.equal(3)
      await refused('INVALID_STATE', () => first!.ask.fail(), 'as it was told')
      await refused('UNKNOWN_NAME', () => (first! as never as { ask: { step(): Promise<void> } }).ask.step(), 'warm')
    })
    expect(finished.interventions).to.have.length(5)
    const until = { steps: finished.iterations }
    const repeated = await trainManyRounds({ ...options, until, interventions: throughJson(finished.interventions!) })
    expect((await repeated.finished).weightsSha256).to.equal(finished.weightsSha256)
  })

  it('says why a method of a learner’s class has not answered, or another learner has not started, and what can be done', async () => {
    const source = `export default class {
      constructor({ replica, learner }) {
        if (learner === 2) throw new RangeError('of mine')
        this.replica = replica
      }
      step() { return this.replica.run(1) }
      exit() { process.exit(4) }
      fail() { throw new RangeError('of mine') }
      hide() { return () => 1 }
      sleep() { return new Promise((resolve) => setTimeout(resolve, 8_000)) } }`
    const learner = new URL(`data:text/javascript,${encodeURIComponent(source)}`)
    const codes: string[] = []
    await talkedTo({ learner, supervision: { deadline: 2_000 } }, async (job) => {
      const { actors } = job
      job.on('intervened', ({ error }) => void (error && codes.push(error.code)))
      const replaced = () => actors.supervisor.ask.replace(1)
      await refused('LEARNER_FAILED', replaced, 'learner 2: it cannot be started: RangeError: of mine')
      const [first, second] = actors.learners<{ exit(): void; fail(): void; hide(told?: unknown): unknown; sleep(): Promise<void> }>()
      await refused('INVALID_OPTION', () => first!.ask.hide(() => 1), 'args: received', 'send what can be copied and recorded')
      const noList = () => actors.supervisor.ask.message(0, 'hide', undefined as never)
      await refused('INVALID_OPTION', noList, 'args: received nothing; give a list of arguments')
      expect(await rejection(first!.ask.fail())).to.have.property('message', 'of mine')
      expect(await rejection(first!.ask.hide()))
        .to.have.property('message')
        .that.contains('could not be cloned')
      expect(codes).to.deep.equal(['CALLBACK_FAILED', 'CALLBACK_FAILED'])
      await refused('DEADLINE_EXCEEDED', () => first!.ask.sleep(), 'learner 0: sleep: no answer within 2000 ms', 'supervision.deadline')
      await refused('ACTOR_GONE', () => second!.ask.exit(), 'learner 1: exit: it has died of this message', 'another has taken its place')
    })
  })

  it('lets learners ask how others are, and tell what changes the run, but not wait for it', async () => {
    const job = await trainManyRounds({ learner: new URL('../../fakes/talking-learner.js', import.meta.url), until: { steps: 300 } })
    const finished = await job.finished
    const told = finished.interventions?.filter(({ kind }) => kind === 'set')
    expect(told).to.have.length(1)
    const message = finished.interventions?.find(({ kind }) => kind === 'message')
    expect(message).to.deep.include({ place: 0, method: 'hear', args: ['ask: INVALID_STATE, status: 2 learners'] })
    const repeated = await trainManyRounds({
      learner: new URL('../../fakes/talking-learner.js', import.meta.url),
      until: { steps: 300 },
      interventions: finished.interventions!
    })
    expect(await repeated.finished).to.include({ weightsSha256: finished.weightsSha256 })
  })
})

describe('the actors of a run', () => {
  it('rest between pause and resume, and answer meanwhile', async () => {
    await talkedTo({}, async (job) => {
      const { synchroniser, supervisor, evaluator } = job.actors
      await someRoundsLater(job, 10)
      const { round } = await synchroniser.ask.pause()
      expect(await synchroniser.ask.status()).to.include({ round, paused: true })
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect(await synchroniser.ask.pause()).to.include({ round })
      const { places } = await supervisor.ask.population()
      expect(places.map(({ learner, state }) => [learner, state])).to.deep.equal([
        [0, 'resting'],
        [1, 'resting']
      ])
      const { testAccuracy } = await evaluator.ask.measure()
      expect(testAccuracy).to.be.within(0.05, 1)
      const { weights } = await synchroniser.ask.central()
      expect(Object.values(weights).map(({ shape }) => shape)).to.deep.include([10])
      expect((await synchroniser.ask.status()).round).to.equal(round)
      await synchroniser.ask.resume()
      await someRoundsLater(job, 10)
      expect(await synchroniser.ask.status()).to.include({ paused: false })
    })
  })

  it('make changes in the order in which they were asked for, whichever of them was asked', async () => {
    const finished = await talkedTo({ learners: 1 }, async (job) => {
      const { synchroniser, supervisor, evaluator } = job.actors
      await synchroniser.ask.pause()
      synchroniser.tell.set({ alpha: 0.1 })
      supervisor.tell.tuning(true)
      supervisor.tell.replace(0)
      const measured = evaluator.ask.measure()
      synchroniser.tell.set({ learningRate: 0.02 })
      synchroniser.tell.resume()
      await measured
      await someRoundsLater(job, 1)
    })
    expect(finished.interventions!.map(({ kind }) => kind)).to.deep.equal(['pause', 'set', 'replace', 'measure', 'set'])
    expect(new Set(finished.interventions!.map(({ round }) => round)).size).to.equal(1)
  })

  it('give the central model as one that predicts, with its batch-norm statistics, in any thread', async () => {
    const data = await openDataset('digits', { samples: 1000 })
    const layers = [conv2d(4, 3), batchNorm2d(), flatten(), linear(10)]
    const model = defineModel({ name: 'normalised', input: data.sample, layers })
    let measured: CentralMeasurement | undefined
    let central: CentralModel | undefined
    const finished = await talkedTo({ model }, (job) =>
      atRest(job, 20, async () => {
        const elsewhere = actorsAt(job.connect())
        measured = await job.actors.evaluator.ask.measure()
        central = await elsewhere.synchroniser.ask.model()
        expect(central.round).to.equal(measured.round)
        expect(central.weights).to.deep.equal((await job.actors.synchroniser.ask.central()).weights)
      })
    )
    const { testAccuracy, testLoss } = await (await loadModel(central!)).evaluate(data)
    expect(testAccuracy).to.equal(measured!.testAccuracy)
    expect(testLoss).to.be.closeTo(measured!.testLoss, 1e-5)
    expect(finished.interventions?.map(({ kind }) => kind)).to.deep.equal(['pause', 'measure', 'model'])
    const until = { steps: finished.iterations }
    const repeated = await trainManyRounds({ model, until, interventions: finished.interventions! })
    expect((await repeated.finished).weightsSha256).to.equal(finished.weightsSha256)
    const [[name], ...others] = Object.entries(central!.weights) as [[string, unknown], ...[string, FloatTensors[string]][]]
    await refused('UNKNOWN_NAME', () => loadModel({ ...central!, weights: Object.fromEntries(others) }), name)
  })

  it('tell the figures of each round until the run ends', async () => {
    const job = await trainManyRounds({ until: { steps: 600 } })
    const rounds: number[] = []
    for await (const { round, loss, members } of job.actors.synchroniser.rounds(-1)) {
      rounds.push(round)
      expect(loss).to.be.within(0, 10)
      expect(members.map(({ distance }) => distance! > 0)).to.deep.equal([true, true])
    }
    expect(rounds.length).above(100)
    expect(rounds).to.deep.equal(Array.from({ length: rounds.length }, (_, i) => rounds[0]! + i))
    await job.finished
  })

  it('refuse in one line what cannot be', async () => {
    const finished = await talkedTo({ onStep: () => {} }, async ({ actors }) => {
      const { synchroniser, supervisor, checkpoints, feeder, learner, evaluator } = actors
      await refused('INVALID_OPTION', () => learner(7).ask.status(), 'place', '0 to 1')
      await refused('INVALID_OPTION', () => learner<{ warm(): void }>(7).ask.warm(), 'place')
      await refused('INVALID_OPTION', () => supervisor.ask.replace(2), 'place')
      await refused('INVALID_OPTION', () => supervisor.ask.resize(0), 'learners')
      await refused('INVALID_OPTION', () => synchroniser.ask.set({ alpha: 3 }), 'alpha')
      await refused('INVALID_OPTION', () => synchroniser.ask.set({ speed: 3 } as never), 'speed')
      await refused('INVALID_OPTION', () => synchroniser.ask.set({ period: 60_000 }), 'period: received 60000', 'at most 57344', 'onStep')
      for (const none of [0.01, null, undefined, []])
        await refused('INVALID_OPTION', () => synchroniser.ask.set(none as never), 'set: received', '{ learningRate: 0.01 }')
      await refused('INVALID_STATE', () => supervisor.ask.tuning(true), 'tuner')
      await refused('INVALID_STATE', () => checkpoints.ask.save(), 'checkpoint')
      await refused('INVALID_STATE', () => feeder.ask.status(), 'memory')
      await refused('DATA_NOT_FOUND', () => evaluator.ask.measure('nothing-like-it'))
      await refused('UNKNOWN_NAME', () => (synchroniser.ask as never as { stopping(): Promise<void> }).stopping(), 'pause')
      await refused('UNKNOWN_NAME', () => learner<{ warm(): void }>(0).ask.warm(), 'warm')
      await refused('ABORTED', () => synchroniser.askWith({ signal: AbortSignal.abort() }).status())
    })
    expect(finished.interventions).to.equal(undefined)
  })

  it('refuse more learners than memory holds, and the run goes on as before', async () => {
    const engine = new URL('../../fakes/filling-engine.js', import.meta.url)
    const finished = await talkedTo(
      {},
      async (job) => {
        await someRoundsLater(job, 10)
        await refused('OUT_OF_MEMORY', () => job.actors.supervisor.ask.resize(500), 'received 500', '498 more', 'use at most')
        expect((await job.actors.supervisor.ask.population()).learners).to.equal(2)
        await someRoundsLater(job, 10)
      },
      { engine }
    )
    expect(finished.interventions).to.equal(undefined)
    const undisturbed = await trainManyRounds({ until: { steps: finished.iterations } })
    expect(finished.weightsSha256).to.equal((await undisturbed.finished).weightsSha256)
  })

  it('answer nothing more once the run has ended', async () => {
    const job = await trainManyRounds()
    const held = job.actors.synchroniser.ask.pause().then(() => job.actors.synchroniser.ask.roundsAfter(1e6))
    await job.actors.synchroniser.ask.status()
    await job.actors.supervisor.ask.population()
    setTimeout(() => job.stop(), 50)
    await refused('ACTOR_GONE', () => held)
    await job.finished
    for (const ask of [() => job.actors.synchroniser.ask.status(), () => job.actors.synchroniser.ask.pause()])
      await refused('ACTOR_GONE', ask)
    for await (const round of job.actors.synchroniser.rounds()) expect.fail(`round ${round.round}`)
  })

  it('are gone with the cause if the run fails', async () => {
    const job = train({ model: 'mlp', data: 'cifar-10', dataDir: '/nowhere' })
    const asked = job.actors.synchroniser.ask.status()
    const { cause } = await refused('ACTOR_GONE', () => asked)
    expect(cause).to.have.property('code', 'DATA_NOT_FOUND')
    await refused('DATA_NOT_FOUND', () => job.finished)
  })

  it('stop a run that rests to the model that it measures, keeps and gives', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-talk-'))
    try {
      const options = await manyRounds({ evaluateEvery: 0.5, until: { steps: 1e6 }, checkpoint: { dir: folder } })
      const job = train(options)
      await new Promise((resolve) => job.once('evaluated', resolve))
      await someRoundsLater(job, 10)
      await job.actors.synchroniser.ask.pause()
      job.stop()
      const finished = await job.finished
      expect(finished).to.include({ reason: 'stopped', keptIteration: finished.iterations })
      const [newest] = await checkpointsIn(folder)
      expect(newest!.iteration).to.equal(finished.iterations)
      const { testAccuracy } = await job.model.evaluate(options.data as Dataset)
      expect(testAccuracy).to.equal(finished.testAccuracy)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('write the model that was trained, too, where a run has just gone on from its last checkpoint', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-talk-'))
    try {
      const options = await manyRounds({ until: { steps: 200 }, checkpoint: { dir: folder } })
      const { testAccuracy } = await train(options).finished
      const job = train({ ...options, until: { steps: 1e6 } })
      const { synchroniser, checkpoints } = job.actors
      await synchroniser.ask.pause()
      const saved = await checkpoints.ask.save()
      const model = await loadModel(saved)
      expect((await model.evaluate(options.data as Dataset)).testAccuracy).to.equal(testAccuracy)
      job.stop()
      await job.finished
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('are refused a checkpoint that cannot be written, also where there is one of the same iteration without the last change', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-talk-'))
    try {
      const dir = join(folder, 'run')
      await talkedTo({ checkpoint: { dir } }, async ({ actors: { synchroniser, checkpoints } }) => {
        await synchroniser.ask.pause()
        await checkpoints.ask.save()
        renameSync(dir, join(folder, 'moved'))
        await synchroniser.ask.set({ learningRate: { factor: 0.5 } })
        await refused('WRITE_FAILED', () => checkpoints.ask.save(), dir)
        synchroniser.tell.resume()
      })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('write checkpoints when a program asks', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-talk-'))
    try {
      let one: string | undefined
      const finished = await talkedTo({ checkpoint: { dir: folder } }, async (job) => {
        await someRoundsLater(job, 20)
        const [first, second] = await Promise.all([job.actors.checkpoints.ask.save(), job.actors.checkpoints.ask.save()])
        expect(first).to.be.a('string').that.includes(folder)
        expect(second).to.be.a('string')
        one = first
        await someRoundsLater(job, 20)
      })
      const options = { until: { steps: finished.iterations }, checkpoint: { dir: folder, resume: one! } }
      const resumed = await (await trainManyRounds(options)).finished
      expect(resumed.weightsSha256).to.equal(finished.weightsSha256)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

function throughJson(interventions: readonly Intervention[]): readonly Intervention[] {
  return JSON.parse(JSON.stringify(interventions)) as readonly Intervention[]
}
