import { expect } from 'chai'
import { checkedState, measuredHere } from '../../src/checkpoints/run-state.js'
import { settingsOf } from '../../src/options/settings.js'
import { StoppingRules } from '../../src/run/evaluation-rules.js'
import { refused } from '../support/codes.js'

const STATE = {
  identity: { model: '"lenet"' },
  round: 20,
  iteration: 40,
  position: 640,
  seconds: 1.5,
  population: [
    { round: 0, learners: 2 },
    { round: 10, learners: 1 }
  ],
  cuts: [{ round: 12, iteration: 20 }],
  ruleStarts: { period: 10, mean: 0 },
  learningRateScale: 0.5,
  learners: [0],
  measurements: [
    { event: { event: 'evaluated', iteration: 20, epoch: 0.5, testLoss: 1.25, testAccuracy: null, seconds: 0.1 }, seconds: 1 },
    // JSON's word for a loss that was no number.
    { event: { event: 'evaluated', iteration: 40, epoch: 1, testLoss: null, testAccuracy: 0.5, seconds: 0.1 }, seconds: 1 }
  ]
}

describe("a run's state in a checkpoint", () => {
  it('is taken as a run has written it', () => {
    const state = checkedState('folder', STATE)
    const [first, second] = STATE.measurements
    const lost = { ...second!, event: { ...second!.event, testLoss: NaN } }
    expect(state).to.deep.equal({ ...STATE, measurements: [first, lost] })
    expect(measuredHere(state)).to.equal(state.measurements[1]!.event)
    expect(measuredHere({ ...state, iteration: 41 })).to.equal(undefined)
  })

  it('is taken as an older version has written it, of a run that had no cuts', () => {
    const { cuts: _, ruleStarts: __, ...older } = STATE
    const { cuts: ___, ruleStarts: ____, ...rest } = checkedState('folder', STATE)
    expect(checkedState('folder', older)).to.deep.equal({ ...rest, cuts: [] })
  })

  it('does not make of a loss that was no number one that is low enough', () => {
    const rules = new StoppingRules(settingsOf({ model: 'mlp', until: { loss: 0.1 } }).until)
    const { measurements } = checkedState('folder', STATE)
    expect(measurements.map(({ event, seconds }) => rules.verdict(event, seconds))).to.deep.equal([undefined, undefined])
  })

  for (const state of [null, undefined, 7, 'text', [STATE]])
    it(`is refused where it is ${JSON.stringify(state)}`, () =>
      refused('DATA_CORRUPT', () => checkedState('folder', state), 'folder', 'state'))

  const evaluated = STATE.measurements[0]!
  const wrong: readonly [string, unknown][] = [
    ['identity', undefined],
    ['identity', { model: 7 }],
    ['round', -1],
    ['iteration', 0.5],
    ['position', '640'],
    ['seconds', null],
    ['population', []],
    ['population', [{ round: 1, learners: 1 }]],
    ['population', [{ round: 0, learners: 0 }]],
    ['population', [{ round: 0, learners: 5000 }]],
    ['population', [...STATE.population, { round: 10, learners: 2 }]],
    ['cuts', [{ round: 1 }]],
    ['cuts', {}],
    ['ruleStarts', { period: 1, mean: -1 }],
    ['learningRateScale', -1],
    ['learners', [0, 'x']],
    ['learners', { 0: 0 }],
    ['measurements', [null]],
    ['measurements', [{ ...evaluated, event: null }]],
    ['measurements', [{ ...evaluated, event: { ...evaluated.event, testAccuracy: 2 } }]]
  ]
  for (const [member, value] of wrong)
    it(`is refused where ${member} is ${JSON.stringify(value)}`, () =>
      refused('DATA_CORRUPT', () => checkedState('folder', { ...STATE, [member]: value }), `state.${member}`))
})
