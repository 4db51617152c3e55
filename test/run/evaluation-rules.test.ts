import { expect } from 'chai'
import { BestModel, StoppingRules } from '../../src/run/evaluation-rules.js'
import type { EvaluatedEvent } from '../../src/observe/events.js'
import { settingsOf } from '../../src/options/settings.js'
import type { UntilOptions } from '../../src/options/until.js'

const measured = (testAccuracy: number | null, testLoss: number, iteration = 0): EvaluatedEvent => ({
  event: 'evaluated',
  iteration,
  epoch: 0,
  testLoss,
  testAccuracy,
  seconds: 0
})

/** What the rules say after each measurement, [accuracy, loss]. */
function verdicts(until: UntilOptions, measurements: readonly (readonly [number | null, number])[], seconds = 1) {
  const rules = new StoppingRules(settingsOf({ model: 'mlp', until }).until)
  return measurements.map(([accuracy, loss]) => rules.verdict(measured(accuracy, loss), seconds))
}

describe('The rules by which a run stops', () => {
  it('hold at an accuracy, a loss and a time that are reached', () => {
    expect(verdicts({ accuracy: 0.9 }, [[0.89, 9], [0.9, 9]])).to.deep.equal([undefined, 'accuracy']) // prettier-ignore
    expect(verdicts({ loss: 0.5 }, [[0, 0.51], [0, 0.5]])).to.deep.equal([undefined, 'loss']) // prettier-ignore
    expect(verdicts({ seconds: 2 }, [[0, 1]], 1.9)).to.deep.equal([undefined])
    expect(verdicts({ seconds: 2 }, [[0, 1]], 2)).to.deep.equal(['seconds'])
    expect(verdicts({ accuracy: 0.1 }, [[null, 1]])).to.deep.equal([undefined])
  })

  it('have patience for measurements in a row that are no better', () => {
    const accuracies = [0.5, 0.6, 0.6, 0.59, 0.7, 0.7, 0.7].map((accuracy) => [accuracy, 1] as const)
    const none = Array.from({ length: 6 }, () => undefined)
    expect(verdicts({ patience: 2 }, accuracies)).to.deep.equal([...none.slice(0, 3), 'patience', undefined, undefined, 'patience'])
    expect(verdicts({ patience: 3 }, accuracies)).to.deep.equal([...none, undefined])
  })

  it('count nothing that an undisturbed run would not have measured', () => {
    const rules = new StoppingRules(settingsOf({ model: 'mlp', until: { patience: 2, accuracy: 0.9 } }).until)
    const course = [[0.5], [0.4], [0.4, true], [0.7, true], [0.6], [0.5], [0.9, true]] as const // prettier-ignore
    expect(course.map(([accuracy, unplanned]) => rules.verdict(measured(accuracy, 1), 1, unplanned))).to.deep.equal(
      [undefined, undefined, undefined, undefined, undefined, undefined, 'accuracy'] // prettier-ignore
    )
    expect(rules.verdict(measured(0.5, 1), 1)).to.equal('patience')
  })

  it('take for better only what is so by more than minDelta, and watch the loss where told to or where it is all there is', () => {
    const steps = [[0.5, 1], [0.55, 0.9], [0.58, 0.8]] as const // prettier-ignore
    expect(verdicts({ patience: 1, minDelta: 0.04 }, steps)).to.deep.equal([undefined, undefined, 'patience'])
    expect(verdicts({ patience: 1, minDelta: 0.05, monitor: 'loss' }, steps)).to.deep.equal([undefined, undefined, undefined])
    expect(verdicts({ patience: 1 }, [[null, 1], [null, 0.9], [null, 0.9]])).to.deep.equal([undefined, undefined, 'patience']) // prettier-ignore
  })

  it('have no patience with what is not finite', () => {
    expect(verdicts({ patience: 1 }, [[null, 1], [null, NaN]])).to.deep.equal([undefined, 'patience']) // prettier-ignore
    expect(verdicts({ patience: 2 }, [[null, NaN], [null, 1], [null, 0.5]])).to.deep.equal([undefined, undefined, undefined]) // prettier-ignore
  })
})

describe('The best model', () => {
  const kept = async (measurements: readonly EvaluatedEvent[]) => {
    const best = new BestModel()
    for (const each of measurements) await best.consider(each, async () => Float32Array.of(each.iteration))
    return best.best
  }

  it('is the one of the highest accuracy, of equal ones that of the lowest loss, and the first of them', async () => {
    const found = await kept([measured(0.5, 1, 1), measured(0.7, 3, 2), measured(0.7, 2, 3), measured(0.7, 2, 4), measured(0.6, 1, 5)])
    expect([found?.measured.iteration, ...found!.weights]).to.deep.equal([3, 3])
  })

  it('is the one of the lowest loss where there is no accuracy, and never one that is no number', async () => {
    expect(
      (await kept([measured(null, NaN, 1), measured(null, 2, 2), measured(null, 1, 3), measured(null, NaN, 4)]))?.measured.iteration
    ).to.equal(3)
    expect(await kept([measured(null, NaN)])).to.equal(undefined)
  })
})
