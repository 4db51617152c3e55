import { expect } from 'chai'
import { StepOrder } from '../../src/learner/step-order.js'
import type { SegmentName } from '../../src/compiler/program.js'
import { refused } from '../support/codes.js'

describe('the order of a step’s segments', () => {
  const after = (...segments: SegmentName[]): StepOrder => {
    const order = new StepOrder()
    for (const segment of segments) {
      order.check(segment)
      order.done(segment)
    }
    return order
  }

  it('has a forward for each backward, and both before exchange and update', () => {
    const step = ['load', 'forward', 'backward', 'exchange', 'update'] as const
    const batches = ['load', 'forward', 'backward', 'load', 'forward', 'backward', 'exchange', 'update'] as const
    expect(() => after(...step, ...step)).to.not.throw()
    expect(() => after(...batches)).to.not.throw()
  })

  for (const [done, next, missing] of [
    [['load'], 'backward', 'forward'],
    [['load', 'forward', 'backward', 'load'], 'backward', 'forward'],
    [['load'], 'exchange', 'forward'],
    [['load', 'forward'], 'exchange', 'backward'],
    [['load'], 'update', 'forward'],
    [['load', 'forward'], 'update', 'backward'],
    [['load', 'forward', 'backward'], 'update', 'exchange'],
    [['load', 'forward', 'backward', 'exchange', 'update', 'load'], 'update', 'forward']
  ] as const)
    it(`refuses ${next} after ${done.join(', ')}: ${missing} is missing`, () =>
      refused(
        'INVALID_STATE',
        () => after(...done).check(next),
        `${next}: the step has had no ${missing}; await ${missing}() before ${next}()`
      ))

  it('needs no forward and no backward once the learner has set its weights or gradients', async () => {
    const order = after('load')
    order.vectorWasSet()
    order.check('exchange')
    await refused('INVALID_STATE', () => order.check('update'), 'no exchange')
    order.done('exchange')
    order.check('update')
    order.done('update')
    await refused('INVALID_STATE', () => order.check('exchange'), 'no forward')
  })
})
