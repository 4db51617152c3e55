import { expect } from 'chai'
import { Random } from '../../src/data/random.js'
import type { GroupRule, LevelSpec, SynchronousRule } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { defineModel, linear, relu } from '../../src/model/layers.js'
import type { NamedRule } from '../../src/rules/rules.js'
import { GroupRun } from './support/group-run.js'
import { DEVICES } from './support/level-cases.js'
import { OPTIMISER, rule } from './support/rule-pair.js'
import { largestDifference, randomSamples, smallTraining } from './support/small-training.js'

/** So wide that vectors which climb levels as a whole have two buckets, too. */
const WIDTH = 640
const MODEL = defineModel({
  name: 'deep',
  input: [12],
  layers: [linear(WIDTH), relu(), linear(WIDTH), relu(), linear(WIDTH), relu(), linear(WIDTH), relu(), linear(5)]
})
const ROUNDS = 3
const WAYS = (['early', 'late'] as const).flatMap((push) => (['whole', 'bucket'] as const).map((pull) => ({ push, pull })))

const { program, initial } = smallTraining('cpu', OPTIMISER, { model: MODEL })
const dataset = randomSamples(100)
const link = (seconds: number): LevelSpec => ({
  kind: 'loopback',
  link: engine.createRatedLink({ bytesPerSecond: program.parameters.bytes / seconds, latency: 0 })
})

describe('Learners that take the central model bucket by bucket', () => {
  /** Steps of the learners in a random order, each until it waits. */
  function ended(how: GroupRule, levels: LevelSpec[], devices: number, seed: number): Float32Array | Float64Array {
    const run = new GroupRun(program, dataset, { initial, rule: how, devices, levels })
    const learners = [0, 1, 2]
    for (const learner of learners) run.add(learner)
    const { period } = how as SynchronousRule
    engine.setEnd(run.group, ROUNDS * period)
    const random = new Random(seed)
    const resting = new Set<number>()
    while (resting.size < learners.length) {
      const learner = random.below(learners.length)
      const { replica, slot } = run.replicas.get(learner)!
      const { outcome } = engine.run(replica, slot, { steps: 1, milliseconds: random.below(3) })
      if (outcome === 'paused') resting.add(learner)
    }
    const central = run.central()
    run.release()
    return central
  }

  const rules: Record<string, NamedRule> = {
    ssgd: { name: 'ssgd' },
    'parameter-server with slack': { name: 'parameter-server', slack: 2 },
    'parameter-server of updates': { name: 'parameter-server', slack: 1, apply: 'updates' },
    'local SGD': { name: 'local-sgd', period: 2 }
  }
  for (const [name, named] of Object.entries(rules))
    it(`end with the bits of those that take it whole, whatever the delays: ${name}`, () => {
      const how = rule(named, 3)
      for (const [devices, levels] of [
        [1, [link(0.01)]],
        [2, [DEVICES, link(0.01)]]
      ] as const) {
        const [whole, ...others] = WAYS.map((way, seed) => ended({ ...how, ...way }, [...levels], devices, seed))
        expect(largestDifference(whole!, initial)).above(1e-4)
        for (const other of others) expect(other).to.deep.equal(whole)
      }
    })

  it('begin the forward pass while a slow link still carries the sums of the last layers', () => {
    const run = new GroupRun(program, dataset, { initial, rule: rule({ name: 'ssgd' }, 1), levels: [link(3)] }).add(0)
    const { replica, slot } = run.replicas.get(0)!
    expect(engine.run(replica, slot, { steps: 1, milliseconds: 0 }).outcome).to.equal('ran')
    const first = initial.slice(0, 12 * WIDTH)
    let weights = run.weights(0)
    const deadline = performance.now() + 20_000
    while (largestDifference(weights.slice(0, first.length), first) === 0 && performance.now() < deadline) {
      expect(engine.run(replica, slot, { steps: 1, milliseconds: 1 }).outcome).to.equal('waiting')
      weights = run.weights(0)
    }
    const last = -5 * (WIDTH + 1)
    expect(largestDifference(weights.slice(last), initial.slice(last))).to.equal(0)
    engine.stop(run.group)
    run.release()
  })

  it('wait for all of it where the rule says so', () => {
    const how = { ...rule({ name: 'ssgd' }, 1), pull: 'whole' } as GroupRule
    const run = new GroupRun(program, dataset, { initial, rule: how, levels: [link(1)] }).add(0)
    const { replica, slot } = run.replicas.get(0)!
    expect(engine.run(replica, slot, { steps: 1, milliseconds: 0 }).outcome).to.equal('ran')
    while (engine.groupStatus(run.group).round === 0) {
      const before = run.weights(0)
      if (engine.run(replica, slot, { steps: 1, milliseconds: 1 }).outcome !== 'waiting') break
      if (engine.groupStatus(run.group).round === 0) expect(run.weights(0)).to.deep.equal(before)
    }
    expect(engine.groupStatus(run.group).round).above(0)
    run.release()
  })
})
