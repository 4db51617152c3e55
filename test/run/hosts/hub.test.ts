import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine } from '../../../src/engine/contract.js'
import { engine as native } from '../../../src/engine/native.js'
import { ArbalestError } from '../../../src/errors.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { engine as leavingEngine, leave } from '../../fakes/leaving-host.js'
import { refused } from '../../support/codes.js'
import { ifSeldom, itSeldom, seldom } from '../../support/seldom.js'
import { ends, eventsOf, SHORT, together, withHubs } from './support/together.js'

const CONSTANT = { schedule: 'constant' } as const

/** Rules that exchange gradients, corrections and weights, with an optimiser that keeps one state, and with one that keeps two. */
const RULES: Readonly<Record<string, TrainOptions>> = {
  'ssgd with Adam': { ...SHORT, synchroniser: 'ssgd', optimiser: { name: 'adam', ...CONSTANT } },
  sma: { ...SHORT, synchroniser: 'sma' },
  diloco: { ...SHORT, synchroniser: { name: 'diloco', period: 5 } },
  ...(seldom.tested && {
    'ssgd with momentum': { ...SHORT, synchroniser: 'ssgd' },
    'local-sgd': { ...SHORT, synchroniser: { name: 'local-sgd', period: 4 } }
  })
}

describe('A run whose sums are made by a hub', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'arbalest-hub-'))
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  for (const [rule, options] of Object.entries(RULES))
    it(`ends with the weights of the exchange without one: ${rule}`, async () => {
      const [whole] = await ends(together(options))
      for (const hubs of rule === 'ssgd with Adam' ? [...ifSeldom(1), 2] : [1]) {
        const run = withHubs(options, { hubs })
        const [first, second] = await ends(run.jobs)
        const { weightsSha256, testAccuracy } = whole!
        expect(first).to.include({ weightsSha256, testAccuracy, iterations: 30, hosts: 2, learners: 4 })
        expect(second).to.deep.equal(first)
        await Promise.all(run.hubs)
      }
    })

  it('leaves the rule to the hosts where it needs the norm of the whole gradient, and refuses it at the hub', async () => {
    const options: TrainOptions = { ...SHORT, synchroniser: 'ssgd', optimiser: { clipNorm: 1 } }
    const [whole] = await ends(together(options))
    const [first] = await ends(withHubs(options).jobs)
    expect(first!.weightsSha256).to.equal(whole!.weightsSha256)
    const { jobs, hubs } = withHubs({ ...options, ruleAt: 'owners' })
    for (const job of jobs) await refused('INVALID_OPTION', () => job.finished, 'ruleAt', 'norm of the whole gradient')
    await refused('INVALID_OPTION', () => hubs[0], 'ruleAt')
  })

  it('goes on from its checkpoint, with hubs and without', async () => {
    const adam = RULES['ssgd with Adam']!
    const checkpoint = { dir }
    const [whole] = await ends(together({ ...adam, until: { steps: 45 } }))
    expect((await ends(withHubs({ ...adam, until: { steps: 15 }, checkpoint }).jobs))[0]).to.include({ iterations: 15 })
    expect((await ends(withHubs({ ...adam, checkpoint }, { hubs: 2 }).jobs))[0]).to.include({ iterations: 30 })
    const [resumed] = await ends(together({ ...adam, until: { steps: 45 }, checkpoint }))
    expect(resumed).to.include({ iterations: 45, weightsSha256: whole!.weightsSha256 })
  })

  it('goes on without a checkpoint for which the hub cannot give all states', async () => {
    const options: TrainOptions = { ...RULES['ssgd with Adam']!, checkpoint: { dir, period: 8 } }
    let left = 4
    // It has given the first moment of its second checkpoint.
    const readSnapshot: Engine['readSnapshot'] = (snapshot, name) => {
      if (--left === 0) throw new ArbalestError('OUT_OF_MEMORY', `no room for ${name}`)
      return native.readSnapshot(snapshot, name)
    }
    const { jobs, hubs } = withHubs(options, { hubEngine: { ...native, readSnapshot } })
    const checkpoints = (await eventsOf(jobs[0]!)).flatMap((event) => (event.event === 'checkpoint' ? [event] : []))
    expect(checkpoints[1]).to.include({ folder: null, code: 'OUT_OF_MEMORY' })
    expect(checkpoints[1]).to.have.property('reason').that.includes('hosts: rank 2').and.includes('no room for central.secondMoment')
    expect(checkpoints.filter(({ folder }) => folder !== null)).to.have.length.above(1)
    const [first] = await ends(jobs)
    const { checkpoint: _, ...undisturbed } = options
    const [whole] = await ends(together(undisturbed))
    expect(first).to.include({ reason: 'completed', iterations: 30, weightsSha256: whole!.weightsSha256 })
    await Promise.all(hubs)
  })

  it('follows a schedule of learners and changes of the rule', async () => {
    const learners = { schedule: [{ round: 0, learners: 4 }, { round: 7, learners: 6 }, { round: 20, learners: 2 }] } // prettier-ignore
    const interventions = [
      { round: 10, iteration: 10, kind: 'set', learningRate: 0.01 },
      { round: 12, iteration: 12, kind: 'set', momentum: 0.5 }
    ] as const
    const options: TrainOptions = { ...SHORT, learners, interventions }
    const [whole] = await ends(together(options))
    const [first] = await ends(withHubs(options).jobs)
    expect(first!.weightsSha256).to.equal(whole!.weightsSha256)
    expect(first!.population).to.deep.equal(whole!.population)
  })

  it('begins again with lower rates when the loss is not finite, and keeps its best model', async () => {
    const onNaN = { learningRateFactor: 1e-30, retries: 1 }
    const { jobs, hubs } = withHubs({ ...SHORT, optimiser: { learningRate: 1e28 }, onNaN, keep: 'best' })
    const events = await eventsOf(jobs[0]!)
    expect(events.map(({ event }) => event)).to.include('wentBack')
    expect(events.at(-1)).to.include({ event: 'finished', reason: 'completed' })
    await Promise.all(hubs)
  })

  it('stops when the user asks for it', async () => {
    const { jobs, hubs } = withHubs({ ...SHORT, until: { steps: 1_000_000 } })
    jobs[0]!.once('progress', () => jobs[1]!.stop())
    const [first] = await ends(jobs)
    expect(first!.reason).to.equal('stopped')
    await Promise.all(hubs)
  })

  it('tells the hub when it cannot begin', async () => {
    for (const wrong of [{ learners: 1 }, { backend: 'cuda-host' as 'cpu' }]) {
      const { jobs, hubs } = withHubs({ ...SHORT, ...wrong })
      const error = (await jobs[0]!.finished.catch((thrown: unknown) => thrown)) as { code: 'INVALID_OPTION' }
      await refused(error.code, () => hubs[0])
      await Promise.allSettled(jobs.map(({ finished }) => finished))
    }
  })

  itSeldom('ends with OUT_OF_MEMORY before the first round where the hub has no room for the sums', async () => {
    const describe: Engine['describe'] = () => ({ ...native.describe(), freeMemory: 2 ** 21 })
    const { jobs, hubs } = withHubs(SHORT, { hubEngine: { ...native, describe } })
    await refused('OUT_OF_MEMORY', () => hubs[0], 'hub: the sums of 2 hosts take at least 3.6 MiB where 2.0 MiB are free; use more hubs')
    for (const job of jobs) await refused('OUT_OF_MEMORY', () => job.finished, 'hosts: rank 2')
  })

  for (const shrinks of [...ifSeldom(false), true])
    it(`ends with HOST_LOST when the hub is lost${shrinks ? ', also where hosts could go on' : ''}, and goes on from its checkpoint`, async () => {
      const options: TrainOptions = { ...RULES['ssgd with Adam']!, checkpoint: { dir, period: 20 }, until: { steps: 60 } }
      const lost = withHubs({ ...options, until: { steps: 100_000 } }, { hubEngine: leavingEngine, shrinks })
      lost.jobs[0]!.once('checkpoint', leave)
      lost.jobs[0]!.on('checkpoint', ({ reason }) => expect(reason, 'the run does not go on without a checkpoint').to.equal(null))
      for (const job of lost.jobs) await refused('HOST_LOST', () => job.finished)
      await refused('HOST_LOST', () => lost.hubs[0])
      const { jobs } = withHubs(options)
      const events = await eventsOf(jobs[0]!)
      expect(events.some(({ event }) => event === 'resumed')).to.equal(true)
      const { checkpoint: _, ...undisturbed } = options
      const [whole] = await ends(together(undisturbed))
      expect(events.at(-1)).to.include({ event: 'finished', iterations: 60, weightsSha256: whole!.weightsSha256 })
    })

  it('ends with HOST_LOST where the user stops the hub just when a host is lost', async () => {
    const stop = new AbortController()
    const engine = new URL('../../fakes/leaving-host.js', import.meta.url)
    const { jobs, hubs } = withHubs({ ...SHORT, until: { steps: 100_000 } }, { engine, stop: stop.signal })
    for (const { finished } of jobs) finished.catch(() => {})
    jobs[0]!.once('progress', () => {
      leave()
      // The link fails in its own thread; the hub's has no turn before it is asked to stop.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
      stop.abort()
    })
    await refused('HOST_LOST', () => hubs[0])
    for (const job of jobs) await refused('HOST_LOST', () => job.finished)
  })

  it('ends with HOST_LOST when a host is lost in the middle of its pushes', async () => {
    const engine = new URL('../../fakes/leaving-host.js', import.meta.url)
    const { jobs, hubs } = withHubs({ ...SHORT, learners: 6, until: { steps: 100_000 } }, { size: 3, engine })
    jobs[0]!.once('progress', leave)
    for (const job of jobs) await refused('HOST_LOST', () => job.finished)
    await refused('HOST_LOST', () => hubs[0])
  })
})
