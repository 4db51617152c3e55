import { expect } from 'chai'
import { lessonOf } from '../../src/dashboard/page/lesson.js'
import type { RuleFacts } from '../../src/dashboard/page/wire.js'
import { ruleNames } from '../../src/rules/rules.js'

describe('what the page tells of a rule', () => {
  const told = (synchroniser: string, rule: RuleFacts | null = null) => {
    const { title, lead, steps } = lessonOf({ rule, batch: 16, learners: 4, synchroniser })
    return [title, lead, ...steps.flat()].join(' | ')
  }

  it('has its numbers where they are known, and none of its own where they are not', () => {
    expect(told('sma', { kind: 'sma', numbers: { alpha: null, momentum: 0.9, period: 2 } }))
      .to.include('After every 2 steps each learner is drawn a part α = 0.25 of the way')
      .and.include('keeps a part µ = 0.9 of its speed')
    expect(told('sma')).to.include('At the end of every round each learner is drawn a part α of the way')
    for (const name of ruleNames) expect(told(name), name).to.not.match(/After every|= /)
  })

  it('tells of a momentum only where the outer step has one', () => {
    const outer = (momentum: number) => ({ kind: 'outer', numbers: { momentum, period: 8 } })
    expect(told('local-sgd', outer(0)))
      .to.include('z moves towards that mean')
      .and.not.include('momentum')
    expect(told('slowmo', outer(0.5))).to.include('with momentum')
  })

  it('brings no learners together that never meet, nor copies of a model that is trained in place', () => {
    expect(told('polyak-ruppert', { kind: 'mean', numbers: { from: 0, period: 1 } }))
      .to.include('They never meet')
      .and.not.include('go on from')
    const inPlace = { kind: 'asynchronous', numbers: { exchange: 'inPlace', period: 16 } }
    for (const each of [told('hogwild'), told('hogwild', inPlace), told('mine.js', inPlace)])
      expect(each)
        .to.include('All learners train z itself')
        .and.not.match(/copies of the model|copy of the model, and steps/)
    expect(told('downpour')).to.include('sends its updates to z')
  })

  it('says how far ahead a learner may be', () => {
    expect(told('parameter-server', { kind: 'optimiser', numbers: { slack: 2, latest: false, period: 1 } })).to.include('2 steps ahead')
    expect(told('ssgd', { kind: 'optimiser', numbers: { period: 1 } })).to.not.include('ahead')
  })
})
