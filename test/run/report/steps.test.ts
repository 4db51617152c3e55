import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { codeOf } from '../../../src/errors.js'
import type { EvaluatedEvent, JobEvent, LoggedEvent, ProgressEvent, StepEvent } from '../../../src/observe/events.js'
import { readRuns } from '../../../src/observe/read-runs.js'
import { checkpointsIn } from '../../../src/checkpoints/store.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import type { Job } from '../../../src/run/job.js'
import { train, trainWith } from '../../../src/run/train.js'
import { counts, engine, group } from '../../fakes/counting-engine.js'
import { FAKES, tinyData, tinyModel } from '../../fakes/job.js'
import { moved } from '../../fakes/moving-synchroniser.js'
import { refused } from '../../support/codes.js'
import { rejection } from '../../support/rejection.js'
import { Folder } from '../../data/support/files.js'

const COUNTING = { ...FAKES, engine: new URL('../../fakes/counting-engine.js', import.meta.url) }

/** Two learners, whose 8 iterations are an epoch. */
const tiny = (options: Partial<TrainOptions>): TrainOptions => ({
  model: tinyModel(),
  data: tinyData(),
  learners: 2,
  batch: 4,
  until: { steps: 100 },
  ...options
})

const start = (options: Partial<TrainOptions>): Job => trainWith(tiny(options), COUNTING)

async function eventsOf(job: Job): Promise<JobEvent[]> {
  const events: JobEvent[] = []
  for await (const event of job) events.push(event)
  return events
}

const from1to = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1)
const isProgress = (event: JobEvent): event is ProgressEvent => event.event === 'progress'
const isLogged = (event: JobEvent): event is LoggedEvent => event.event === 'logged'

describe('A run whose progress is logged by iterations', () => {
  it('has the same points whatever its seed, each the mean of all losses since the one before', async () => {
    for (const seed of [1, 2]) {
      const losses: number[] = []
      const rates: number[] = []
      const onStep = ({ loss, learningRate }: StepEvent) => void (losses.push(loss), rates.push(learningRate))
      const optimiser = { learningRate: 0.05, schedule: 'cosine' } as const
      const progress = (await eventsOf(train({ ...tiny({ logEvery: 7, seed, optimiser, onStep }) }))).filter(isProgress)
      expect(progress.map(({ iteration }) => iteration)).to.deep.equal(from1to(14).map((i) => 7 * i))
      for (const { iteration, loss, learningRate, learners, imagesPerSecond } of progress) {
        const own = losses.slice(iteration - 7, iteration)
        expect(loss).to.be.closeTo(own.reduce((sum, each) => sum + each, 0) / 7, 1e-12)
        expect(learningRate).to.equal(rates[iteration - 1])
        expect(learners).to.equal(2)
        expect(imagesPerSecond).to.be.at.least(0)
      }
      expect(new Set(rates).size).to.be.above(50)
    }
  })

  it('gives every point to a reader, though many come at once', async () => {
    const progress = (await eventsOf(start({ logEvery: 1, until: { steps: 5000 }, evaluateEvery: 1000 }))).filter(isProgress)
    expect(progress.map(({ iteration }) => iteration)).to.deep.equal(from1to(5000))
  })

  it('refuses what is no number of iterations, and rounds that are longer than the engine remembers', async () => {
    await refused('INVALID_OPTION', () => start({ logEvery: 0 }), 'logEvery', 'at least 1')
    const period = 60_000
    await refused('INVALID_OPTION', () => start({ logEvery: 5, synchroniser: { period } }).finished, 'logEvery', '57344', '60000')
    await refused('INVALID_OPTION', () => start({ onStep: () => {}, synchroniser: { period } }).finished, 'onStep')
    await refused('INVALID_OPTION', () => start({ logEveryNSteps: 5 } as object), 'use logEvery')
  })
})

describe('onStep', () => {
  it('is called for each iteration, in order, before what is measured after it', async () => {
    const order: string[] = []
    const job = start({ until: { epochs: 2 }, onStep: ({ iteration }) => void order.push(String(iteration)) })
    job.on('evaluated', () => void order.push('evaluated'))
    await job.finished
    expect(order).to.deep.equal([...from1to(8), 'evaluated', ...from1to(15).slice(8), 'evaluated'].map(String))
  })

  it('misses none of more iterations than the engine remembers, though it holds up the thread', async function () {
    this.timeout(60_000)
    const steps = 70_000
    let last = 0
    const job = start({
      learners: 1,
      until: { steps },
      evaluateEvery: 1e6,
      onStep({ iteration, loss }) {
        if (iteration === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
        if (iteration !== last + 1 || !Number.isFinite(loss)) throw new Error(`${iteration} with ${loss} after ${last}`)
        last = iteration
      }
    })
    counts.clear()
    await job.finished
    expect(last).to.equal(steps)
    // The learners may go on step by step only as the calls do.
    expect(counts.get('setPause')! + (counts.get('extendPause') ?? 0)).to.be.above(steps / 10_000)
  })

  it('lets learners go on while they train, and changes nothing of what they train', async function () {
    this.timeout(60_000)
    const endless = tiny({ until: { steps: 20_000 }, evaluateEvery: 1e6, optimiser: { learningRate: 0.01, milestones: [] } })
    let last = 0
    const onStep = ({ iteration, loss }: StepEvent) => void expect([iteration, Number.isFinite(loss)]).to.deep.equal([++last, true])
    const synchroniserActor = new URL('../../fakes/moving-synchroniser.js', import.meta.url)
    const { weightsSha256 } = await train({ ...endless, onStep, synchroniserActor }).finished
    expect(last).to.equal(20_000)
    expect(moved.count).to.be.above(0)
    expect((await train(endless).finished).weightsSha256).to.equal(weightsSha256)
  })

  it('is awaited, while the learners go on for some thousand iterations and no further', async () => {
    let calls = 0
    let ahead = 0
    const job = start({
      until: { steps: 30_000 },
      evaluateEvery: 1e6,
      async onStep({ iteration }) {
        expect(iteration).to.equal(++calls)
        if (iteration > 1) return
        for (let before = -1; ahead > before || ahead < 5_000; before = ahead, ahead = engine.groupStatus(group).iterations) await sleep(50)
      }
    })
    job.on('progress', () => calls > 10_000 && job.stop())
    const { iterations } = await job.finished
    expect(ahead).to.be.within(5_000, 8_300)
    expect(iterations).to.be.above(10_000)
  })

  it('may wait for the changes that it asks for', async () => {
    const places: number[] = []
    const job: Job = start({
      async onStep({ iteration }) {
        if (iteration % 40 === 0) places.push((await job.actors.synchroniser.ask.set({ learningRate: { factor: 0.5 } })).iteration)
      }
    })
    const { interventions, iterations } = await job.finished
    expect(iterations).to.equal(100)
    expect(interventions?.map(({ iteration, kind }) => [iteration, kind])).to.deep.equal(places.map((iteration) => [iteration, 'set']))
    expect(places).to.have.length(2)
  })

  it('ends the run as its failure if it throws or rejects, after a checkpoint', async () => {
    await using folder = await Folder.make()
    const fault = new RangeError('a fault of the user’s')
    let calls = 0
    const onStep = ({ iteration }: StepEvent) => (calls++, iteration === 20 ? Promise.reject(fault) : undefined)
    expect(await rejection(start({ onStep, until: { steps: 1e6 } }).finished)).to.equal(fault)
    expect(calls).to.equal(20)
    const job = train({ ...tiny({ checkpoint: folder.path, evaluateEvery: 1e6, until: { steps: 1e6 }, onStep: () => { throw fault } }) }) // prettier-ignore
    expect(await rejection(job.finished)).to.equal(fault)
    const [checkpoint] = await checkpointsIn(folder.path)
    expect(checkpoint!.iteration).to.be.above(0)
  })

  it('is told as the function that failed, not as a bug, as are `onEvaluated` and listeners', async () => {
    await using folder = await Folder.make()
    const fail = () => Promise.reject(new RangeError('a fault of the user’s'))
    const throwing = () => {
      throw new RangeError('a fault of the user’s')
    }
    const log = join(folder.path, 'log.jsonl')
    for (const more of [{ onStep: throwing }, { onStep: fail }, { onEvaluated: throwing }])
      await rejection(train(tiny({ ...more, log, until: { steps: 2 } })).finished)
    const lines = (await readFile(log, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as JobEvent)
    const codes = lines.flatMap((line) => ((line.event as string) === 'failed' && 'code' in line ? [line.code] : []))
    expect(codes).to.deep.equal(['CALLBACK_FAILED', 'CALLBACK_FAILED', 'CALLBACK_FAILED'])
    const listened = train(tiny({ until: { steps: 1e6 } }))
    listened.on('started', fail)
    expect(codeOf(await rejection(listened.finished))).to.equal('CALLBACK_FAILED')
    expect(codeOf(new RangeError('of nobody'))).to.equal('INTERNAL')
  })

  it('ends the run with an Error where what it throws is none, which is no bug either', async () => {
    for (const [thrown, words] of [
      ['enough', 'thrown: "enough"'],
      [undefined, 'thrown: undefined']
    ] as const) {
      const { finished } = start({ until: { steps: 1e6 }, onStep: () => { throw thrown } }) // prettier-ignore
      const failure = await rejection(finished)
      expect(failure).to.be.an('error').that.has.property('message', words)
      expect(failure).to.have.property('cause', thrown)
      expect(codeOf(failure)).to.equal('CALLBACK_FAILED')
    }
  })

  it('holds up a run that is stopped for a second at most', async () => {
    const job = start({ until: { steps: 1e6 }, onStep: () => new Promise(() => {}) })
    await new Promise((resolve) => job.once('started', resolve))
    await sleep(100)
    job.stop()
    const before = performance.now()
    expect((await job.finished).reason).to.equal('stopped')
    expect(performance.now() - before).to.be.below(5_000)
  })

  it('is not called again where the run was stopped and its last call has not answered', async () => {
    const calls: number[] = []
    const job = start({
      until: { steps: 1e6 },
      async onStep({ iteration }) {
        calls.push(iteration)
        if (iteration < 50) return
        job.stop()
        await new Promise(() => {})
      }
    })
    await job.finished
    expect(calls).to.deep.equal(from1to(50))
  })

  it('costs a run without it nothing: no pause, and no look at losses more than 5 a second', async () => {
    counts.clear()
    const { seconds } = await start({ learners: 1, until: { steps: 20_000 }, evaluateEvery: 1e6 }).finished
    expect(counts.get('setPause')).to.equal(1)
    expect(counts.get('losses')).to.be.at.most(1 + 5 * seconds)
  })
})

describe('job.log', () => {
  it('ties finite numbers to the present iteration, and records them as every event', async () => {
    await using folder = await Folder.make()
    const log = join(folder.path, 'log.jsonl')
    const job: Job = start({
      log,
      until: { epochs: 2 },
      logEvery: 5,
      onStep: ({ iteration }) => void (iteration % 6 === 0 && job.log({ six: iteration })),
      async onEvaluated({ iteration }) {
        await sleep(1)
        job.log({ evaluated: iteration, 'a name': -0.5 })
      }
    })
    for (const metrics of [{}, [1], null, 'loss', { loss: NaN }, { loss: '1' }, { '': 1 }])
      await refused('INVALID_OPTION', () => job.log(metrics as never), 'log')
    job.log({ first: 0 })
    job.on('progress', ({ iteration }) => job.log({ progress: iteration }))
    job.on('evaluated', ({ iteration }: EvaluatedEvent) => job.log({ listener: iteration }))
    const logged = (await eventsOf(job)).filter(isLogged)
    expect(logged.map(({ iteration, metrics }) => [iteration, metrics])).to.deep.equal([
      [0, { first: 0 }],
      [5, { progress: 5 }],
      [6, { six: 6 }],
      [8, { listener: 8 }],
      [8, { evaluated: 8, 'a name': -0.5 }],
      [10, { progress: 10 }],
      [12, { six: 12 }],
      [15, { progress: 15 }],
      [15, { listener: 15 }],
      [15, { evaluated: 15, 'a name': -0.5 }]
    ])
    const [run] = await readRuns(log)
    expect(run!.logged).to.deep.equal(logged)
    await refused('INVALID_STATE', () => job.log({ late: 1 }), 'has ended')
  })

  it('is there for a learner of one’s own, at the iterations of that learner', async () => {
    const learner = new URL(
      `data:text/javascript,${encodeURIComponent(`export default (context) => {
        context.log({ born: context.rank })
        return async () => { await context.replica.run(1); context.log({ rank: context.rank }) }
      }`)}`
    )
    const logged = (await eventsOf(train(tiny({ learner, until: { steps: 12 } })))).filter(isLogged)
    for (const rank of [0, 1]) {
      const own = logged.filter((event) => event.learner === rank)
      expect(own.map(({ iteration }) => iteration)).to.deep.equal([0, ...from1to(12)])
      expect(own.map(({ metrics }) => metrics)).to.deep.equal([{ born: rank }, ...from1to(12).map(() => ({ rank }))])
    }
  })
})
