import { expect } from 'chai'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { downpour } from '../../src/rules/downpour.js'
import { hogwild } from '../../src/rules/hogwild.js'
import type { AsynchronousRule } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { DiskFolder } from '../support/disk-folder.js'
import { inOwnProcess } from '../support/own-process.js'
import { GroupRun } from './support/group-run.js'
import { PlainDownpour, PlainHogwild } from './support/plain-asynchronous.js'
import type { SteppingWorker } from './support/stepping-worker.js'
import { largestDifference, randomSamples, smallTraining } from './support/small-training.js'

const FAILED_STORAGE = new URL('./support/failed-storage.js', import.meta.url)
const NUMBERS = { rate: 0.02, momentum: 0.5, decay: 1e-3 }
const OPTIMISER = { momentum: 0.5, weightDecay: 1e-3 }
const BATCH = 4

function start(rule: AsynchronousRule, learners: number, backend: 'reference' | 'cpu' = 'reference') {
  const { program, initial } = smallTraining(backend, OPTIMISER)
  const run = new GroupRun(program, randomSamples(300), { initial, rule }, { rate: NUMBERS.rate })
  for (let j = 0; j < learners; j++) run.add(j)
  const step = (j: number) => {
    const { replica, slot } = run.replicas.get(j)!
    return engine.run(replica, slot, { steps: 1, milliseconds: 10 }).outcome
  }
  return { run, program, initial, step }
}

/** Some order in which learners begin and end their iterations, one after another. */
function* interleaving(learners: number, events: number): Generator<number> {
  let state = 99
  for (let event = 0; event < events; event++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    yield Math.floor((state / 2 ** 32) * learners)
  }
}

for (const backend of ['reference', 'cpu'] as const)
  describe(`asynchronous rules on ${backend}`, () => {
    const cases = {
      'downpour that pushes and fetches always': [downpour({ period: 1 }), { push: 1, fetch: 1 }],
      'downpour that pushes every 3 and fetches every 2': [downpour({ period: 1, pushPeriod: 3, fetchPeriod: 2 }), { push: 3, fetch: 2 }],
      hogwild: [hogwild({ period: 1 }), undefined]
    } as const
    for (const [name, [rule, every]] of Object.entries(cases))
      it(`${name} equals its publication in any interleaving, over 50 rounds`, () => {
        for (const learners of [1, 2, 3, 5]) {
          const { run, initial } = start(rule, learners, backend)
          const plain = every ? new PlainDownpour(initial, NUMBERS, every) : new PlainHogwild(initial, NUMBERS)
          for (let j = 0; j < learners; j++) plain.join(j)
          const gradients = new Map<number, ArrayLike<number>>()
          // An iteration is two events, and a round is as many iterations as there are learners.
          for (const j of interleaving(learners, 102 * learners)) {
            if (gradients.has(j)) {
              run.finish(j)
              plain.end(j, gradients.get(j)!)
              gradients.delete(j)
            } else {
              plain.begin(j)
              run.compute(j)
              gradients.set(j, run.gradients(j))
            }
            expect(largestDifference(run.central(), plain.z), `${learners} learners`).below(1e-5)
          }
          expect(largestDifference(run.central(), initial)).above(1e-3)
          expect(engine.groupStatus(run.group).round).at.least(50)
        }
      })
  })

describe('an asynchronous group', () => {
  it('hands out iterations and samples to whoever comes, and counts them in rounds', () => {
    const { run, step } = start(downpour({ period: 2 }), 2)
    for (let i = 0; i < 3; i++) expect(step(0)).to.equal('ran')
    expect(engine.groupStatus(run.group)).to.include({ round: 0, iterations: 1, position: 3 * BATCH })
    expect(step(1)).to.equal('ran')
    expect(engine.groupStatus(run.group)).to.include({ round: 1, iterations: 2, position: 4 * BATCH })
    expect(engine.losses(run.group, 0)).to.have.length(2)
  })

  it('pauses between rounds when all that was handed out is done, and goes on', () => {
    const { run, step } = start(downpour({ period: 2 }), 2)
    engine.setPause(run.group, 1)
    run.compute(1)
    for (let i = 0; i < 3; i++) expect(step(0)).to.equal('ran')
    expect(step(0)).to.equal('waiting')
    run.finish(1)
    for (const j of [0, 1]) expect(step(j)).to.equal('paused')
    expect(engine.groupStatus(run.group)).to.include({ round: 1, iterations: 2 })
    engine.setPause(run.group, Infinity)
    expect(step(1)).to.equal('ran')
  })

  it('ends in the middle of a period, with all that was not pushed', () => {
    const { run, step, initial } = start(downpour({ period: 4, pushPeriod: 100, fetchPeriod: 100 }), 1)
    engine.setEnd(run.group, 6)
    for (let i = 0; i < 6; i++) expect(step(0)).to.equal('ran')
    expect(largestDifference(run.central(), initial)).to.equal(0)
    expect(step(0)).to.equal('paused')
    expect(engine.groupStatus(run.group)).to.include({ round: 2, iterations: 6, position: 6 * BATCH })
    expect(largestDifference(run.central(), run.weights(0))).below(1e-6)
  })

  it('goes on without a learner that is evicted between two iterations, and takes others in', () => {
    const { run, step, initial } = start(downpour({ period: 1, pushPeriod: 1 }), 2)
    expect(step(0)).to.equal('ran')
    engine.evict(run.group, 0)
    expect(step(0)).to.equal('evicted')
    expect(largestDifference(run.central(), initial)).above(0)
    expect(engine.groupStatus(run.group).members).to.deep.equal([1])
    run.add(2)
    const central = run.central()
    run.compute(2)
    expect(largestDifference(run.weights(2), central)).to.equal(0)
  })

  it('takes what a learner has not pushed yet where it leaves between two iterations, and not where its central model is another', () => {
    for (const replaced of [false, true]) {
      const { run, initial } = start(downpour({ period: 1, pushPeriod: 50, fetchPeriod: 50 }), 2)
      for (let i = 0; i < 3; i++)
        for (const j of [0, 1]) {
          run.compute(j)
          run.finish(j)
        }
      expect(run.central()).to.deep.equal(initial)
      if (replaced) engine.writeCentral(run.group, initial)
      const own = run.weights(1)
      engine.evict(run.group, 1)
      // The learner began at the central model, and nobody else has pushed.
      expect(largestDifference(run.central(), replaced ? initial : own)).below(1e-6)
      expect(largestDifference(own, initial)).above(1e-3)
    }
  })

  it('goes on without a learner that is evicted in the middle of an iteration', () => {
    const { run, step } = start(downpour({ period: 1 }), 2)
    engine.setPause(run.group, 2)
    run.compute(0)
    for (const outcome of ['ran', 'ran', 'ran', 'waiting']) expect(step(1)).to.equal(outcome)
    engine.evict(run.group, 0)
    expect(step(1)).to.equal('paused')
    expect(engine.groupStatus(run.group)).to.deep.include({ round: 2, members: [1] })
    expect(run.segment(0, 'exchange')).to.equal('ran')
    expect(run.segment(0, 'update')).to.equal('ran')
    expect(step(0)).to.equal('evicted')
  })

  it('stops for a loss that is not finite, and when it is told to', () => {
    const { run, step } = start(hogwild({}), 1)
    engine.setLearningRates(run.group, 0, Float32Array.of(1e30))
    let outcome = step(0)
    for (let i = 0; i < 20 && outcome === 'ran'; i++) outcome = step(0)
    expect(outcome).to.equal('cancelled')
    expect(engine.groupStatus(run.group).notFiniteAt).within(1, 20)
    const other = start(downpour({ bound: 'bsp' }), 2)
    expect(other.step(0)).to.equal('ran')
    engine.stop(other.run.group)
    expect(other.step(0)).to.equal('cancelled')
  })

  it('holds back who is too far ahead of the slowest, and no other', () => {
    for (const slack of [0, 2]) {
      const { run, step } = start(downpour({ slack }), 3)
      for (let i = 0; i <= slack; i++) expect(step(0)).to.equal('ran')
      expect(step(0)).to.equal('waiting')
      expect(step(1)).to.equal('ran')
      expect(step(0)).to.equal('waiting')
      expect(step(2)).to.equal('ran')
      expect(step(0)).to.equal('ran')
      expect(step(0)).to.equal('waiting')
      for (const j of [1, 2]) engine.evict(run.group, j)
      for (let i = 0; i < 5; i++) expect(step(0)).to.equal('ran')
      // Who joins is not behind.
      run.add(3)
      for (let i = 0; i <= slack; i++) expect(step(3)).to.equal('ran')
      expect(step(3)).to.equal('waiting')
    }
  })

  it('keeps threads within the bound, and lets them go on without one', async () => {
    const furthest: number[] = []
    for (const rule of [downpour({ slack: 2, pushPeriod: 2 }), hogwild({ bound: 'bsp' }), downpour({})]) {
      const { run, program } = start(rule, 0, 'cpu')
      engine.setEnd(run.group, 100)
      for (const j of [0, 1]) engine.join(run.group, j)
      const shared = { group: run.group, program: engine.createProgram(program), dataset: randomSamples(300), layout: program.parameters }
      const counts = new Int32Array(new SharedArrayBuffer(12))
      const workers = [0, 1].map((learner) => {
        const workerData: SteppingWorker = { ...shared, learner, counts, pause: learner === 1 ? 2 : 0 }
        return new Worker(new URL('support/stepping-worker.js', import.meta.url), { workerData })
      })
      const exits = await Promise.all(workers.map(async (worker) => (await once(worker, 'exit'))[0] as number))
      expect(exits).to.deep.equal([0, 0])
      expect(counts[0]! + counts[1]!).to.equal(200)
      expect(engine.groupStatus(run.group)).to.include({ iterations: 100, position: 200 * BATCH })
      furthest.push(counts[2]!)
    }
    // A learner is counted a moment after its iteration has ended: one more than the bound's own one.
    expect(furthest[0]).at.most(4)
    expect(furthest[1]).at.most(2)
    expect(furthest[2]).above(20)
  })
})

describe('asynchronous groups whose disk fails', () => {
  it('are not waited for after the last push of a learner', async () => {
    await using folder = await DiskFolder.make()
    expect(inOwnProcess(FAILED_STORAGE, 'captureAfterFailedPush', folder.path)).to.deep.equal({
      outcome: 'ran',
      codes: ['WRITE_FAILED', 'WRITE_FAILED']
    })
  })

  it('come to a pause after a round that could not be averaged', async () => {
    await using folder = await DiskFolder.make()
    expect(inOwnProcess(FAILED_STORAGE, 'pauseAfterFailedAverage', folder.path)).to.deep.equal({
      code: 'WRITE_FAILED',
      outcome: 'paused'
    })
  })
})
