import { expect } from 'chai'
import { thrown } from '../support/thrown.js'
import type { RuleChange } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { downpour } from '../../src/rules/downpour.js'
import { hogwild } from '../../src/rules/hogwild.js'
import type { NamedRule } from '../../src/rules/rules.js'
import { testedBackends } from './support/backends.js'
import { GroupRun } from './support/group-run.js'
import { OPTIMISER, rule } from './support/rule-pair.js'
import { largestDifference, randomSamples, smallTraining } from './support/small-training.js'

const K = 3
const LEARNERS = Array.from({ length: K }, (_, j) => j)

/** A rule, and what it becomes. */
const CHANGES: Record<string, [before: NamedRule, after: NamedRule, change: RuleChange]> = {
  'alpha and momentum of sma': [
    { name: 'sma', period: 2, syncMomentum: 0.3 },
    { name: 'sma', period: 2, alpha: 0.2, syncMomentum: 0.6 },
    { alpha: 0.2, momentum: 0.6 }
  ],
  'alpha of sma, by the number of learners again': [{ name: 'sma', alpha: 0.1 }, { name: 'sma' }, { alpha: null }],
  'all of sma in lockstep': [
    { name: 'sma', period: 3, lockstep: true },
    { name: 'sma', period: 1, alpha: 0.3, syncMomentum: 0.2, lockstep: true },
    { period: 1, alpha: 0.3, momentum: 0.2 }
  ],
  'the period of eamsgd': [{ name: 'eamsgd', period: 1 }, { name: 'eamsgd', period: 4 }, { period: 4 }],
  'the period of local SGD': [{ name: 'local-sgd', period: 3 }, { name: 'local-sgd', period: 2 }, { period: 2 }],
  'the period of slowmo': [{ name: 'slowmo', period: 2 }, { name: 'slowmo', period: 5 }, { period: 5 }],
  'the period of polyak-ruppert': [{ name: 'polyak-ruppert', period: 2 }, { name: 'polyak-ruppert', period: 3 }, { period: 3 }]
}

function iterate(run: GroupRun, iterations: number): void {
  for (let t = 0; t < iterations; t++) for (const step of ['compute', 'finish'] as const) for (const j of LEARNERS) run[step](j)
}

for (const { name: backend } of testedBackends())
  describe(`a rule that is changed between two rounds on ${backend}`, () => {
    for (const [what, [before, after, change]] of Object.entries(CHANGES))
      it(`goes on as one that was so from its start: ${what}`, () => {
        const { program, initial } = smallTraining(backend, { ...OPTIMISER, nesterov: before.name === 'eamsgd' })
        const samples = randomSamples(100)
        const changed = new GroupRun(program, samples, { initial, rule: rule(before, K) })
        for (const j of LEARNERS) changed.add(j)
        iterate(changed, 6)
        const resumed = new GroupRun(program, samples, { initial, rule: rule(after, K) })
        engine.restoreGroup(resumed.group, changed.captureGroup())
        for (const j of LEARNERS) resumed.add(j, changed.capture(j))

        engine.setRule(changed.group, change)
        const { round } = engine.groupStatus(changed.group)
        for (const run of [changed, resumed]) iterate(run, 60)
        expect(engine.groupStatus(changed.group)).to.deep.equal(engine.groupStatus(resumed.group))
        expect(engine.groupStatus(changed.group)).to.include({ round: round + 60 / ('period' in after ? after.period : 1) })
        expect(largestDifference(changed.central(), resumed.central())).to.equal(0)
        for (const j of LEARNERS) expect(largestDifference(changed.weights(j), resumed.weights(j))).to.equal(0)
        for (const run of [changed, resumed]) run.release()
      })
  })

describe('a change of a rule', () => {
  const start = (how: NamedRule) => {
    const { program, initial } = smallTraining('reference', OPTIMISER)
    const run = new GroupRun(program, randomSamples(100), { initial, rule: rule(how, 2) })
    for (const j of [0, 1]) run.add(j)
    return run
  }

  it('is refused while a round is in progress', () => {
    const run = start({ name: 'sma' })
    for (const j of [0, 1]) run.compute(j)
    run.finish(0)
    expect(thrown(() => engine.setRule(run.group, { alpha: 0.1 })).code).to.equal('INVALID_STATE')
    run.finish(1)
    engine.setRule(run.group, { alpha: 0.1 })
  })

  for (const change of [
    { alpha: 0 },
    { alpha: 1 },
    { alpha: NaN },
    { momentum: -0.1 },
    { momentum: 1 },
    { period: 0 },
    { period: 2 ** 40 }
  ])
    it(`is refused for a value that no rule takes: ${JSON.stringify(change)}`, () => {
      expect(thrown(() => engine.setRule(start({ name: 'sma' }).group, change)).code).to.equal('INVALID_OPTION')
    })

  it('is refused for what the rule does not have', () => {
    expect(thrown(() => engine.setRule(start({ name: 'ssgd' }).group, { period: 2 })).code).to.equal('INVALID_OPTION')
    expect(thrown(() => engine.setRule(start({ name: 'local-sgd' }).group, { alpha: 0.1 })).code).to.equal('INVALID_OPTION')
    expect(thrown(() => engine.setRule(start({ name: 'diloco' }).group, { momentum: 0.1 })).code).to.equal('INVALID_OPTION')
    const { program, initial } = smallTraining('reference', OPTIMISER)
    const { group } = new GroupRun(program, randomSamples(100), { initial, rule: hogwild({}) })
    expect(thrown(() => engine.setRule(group, { momentum: 0.1 })).code).to.equal('INVALID_OPTION')
  })

  it('gives rounds of an asynchronous rule another length, once all of its iterations are over', () => {
    const { program, initial } = smallTraining('reference', OPTIMISER)
    const run = new GroupRun(program, randomSamples(100), { initial, rule: downpour({ period: 2 }) })
    for (const j of [0, 1]) run.add(j)
    const step = (j: number) => {
      run.compute(j)
      run.finish(j)
    }
    for (const j of [0, 1, 0]) step(j)
    expect(thrown(() => engine.setRule(run.group, { period: 3 })).code).to.equal('INVALID_STATE')
    step(1)
    engine.setRule(run.group, { period: 3 })
    for (const j of [0, 1, 0, 1, 0]) step(j)
    expect(engine.groupStatus(run.group)).to.include({ round: 1 })
    step(0)
    expect(engine.groupStatus(run.group)).to.include({ round: 2, iterations: 5 })
  })
})
