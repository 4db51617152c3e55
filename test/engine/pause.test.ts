import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { engine } from '../../src/engine/native.js'
import { GroupRun } from './support/group-run.js'
import { rule } from './support/rule-pair.js'
import { randomSamples, smallTraining } from './support/small-training.js'

/** Milliseconds in which a thread has begun to wait. */
const BEGUN = 300

function learners(count: number): GroupRun {
  const { program, initial } = smallTraining('reference', { momentum: 0.9 })
  const run = new GroupRun(program, randomSamples(100), { initial, rule: rule({ name: 'sma' }, count) })
  for (let learner = 0; learner < count; learner++) run.add(learner)
  return run
}

function iterate(run: GroupRun, members: readonly number[]): void {
  for (const learner of members) run.compute(learner)
  for (const learner of members) run.finish(learner)
}

describe('A pause', () => {
  it('that is set while a learner waits to begin holds for that learner too', async () => {
    const run = learners(3)
    // The first round waits for learner 1. The second one is open, and learner 3 joins behind it.
    iterate(run, [0, 2])
    run.compute(0)
    run.add(3)
    const joined = run.segmentInThread(3, 'load')
    await sleep(BEGUN)
    engine.setPause(run.group, 0)
    engine.evict(run.group, 1)
    run.finish(0)
    iterate(run, [2])
    expect(await joined).to.equal('paused')
    for (const learner of [0, 2]) expect(run.segment(learner, 'load')).to.equal('paused')
  })

  it('that is lifted while a learner waits for it stops that learner no more', async () => {
    const run = learners(2)
    engine.setPause(run.group, 1)
    iterate(run, [0])
    const waiting = run.segmentInThread(0, 'load')
    await sleep(BEGUN)
    engine.setPause(run.group, Infinity)
    iterate(run, [1])
    expect(await waiting).to.equal('ran')
  })

  it('is moved on while a learner is on its way there, and not once all have arrived', () => {
    const run = learners(2)
    engine.setPause(run.group, 1)
    iterate(run, [0])
    expect(engine.extendPause(run.group, 2)).to.equal(true)
    iterate(run, [1])
    iterate(run, [0, 1])
    expect(engine.extendPause(run.group, 3)).to.equal(false)
    for (const learner of [0, 1]) expect(run.segment(learner, 'load')).to.equal('paused')
    engine.setPause(run.group, Infinity)
    iterate(run, [0, 1])
    expect(engine.groupStatus(run.group).round).to.equal(3)
  })
})
