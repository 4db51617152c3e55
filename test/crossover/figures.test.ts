import { expect } from 'chai'
import fc from 'fast-check'
import { boundOfGain, fairnessOf, gainOf, jainIndex, pacesOf, type StepTimes } from '../../src/crossover/figures.js'

/** A job that exchanges for a part of the time for which it computes. */
function stepTimes(compute: number, exchange: number, overlap = 0): StepTimes {
  return { step: compute + exchange - overlap * Math.min(compute, exchange), compute, exchange }
}

const times = fc.record({
  compute: fc.double({ min: 1e-3, max: 10, noNaN: true }),
  exchange: fc.double({ min: 0, max: 10, noNaN: true }),
  overlap: fc.double({ min: 0, max: 1, noNaN: true })
})

describe('figures of jobs on one device', () => {
  it('bounds the gain by (c1 + c2 + x1 + x2) / max(c1 + c2, x1 + x2, c1 + x1, c2 + x2)', () => {
    const pair = [stepTimes(0.03, 0.044), stepTimes(0.004, 0.069)]
    expect(boundOfGain(pair, { sharesLink: true })).to.be.closeTo(0.147 / 0.113, 1e-12)
    expect(boundOfGain(pair, { sharesLink: false })).to.be.closeTo(0.147 / 0.074, 1e-12)
    expect(boundOfGain([stepTimes(1, 0), stepTimes(2, 0)], { sharesLink: true })).to.equal(1)
    fc.assert(
      fc.property(fc.array(times, { minLength: 2, maxLength: 5 }), fc.boolean(), (jobs, sharesLink) => {
        const all = jobs.map(({ compute, exchange, overlap }) => stepTimes(compute, exchange, overlap))
        expect(boundOfGain(all, { sharesLink })).within(1 - 1e-9, jobs.length)
      })
    )
  })

  it('bounds the gain of jobs that exchange while they compute by what the link carries, and not by what they wait for it', () => {
    // Each computes for 3 and exchanges for 4, of which 2 while it computes: the link is taken for 8 of the 10 that they take one after the other.
    const pair = [stepTimes(3, 4, 2 / 3), stepTimes(3, 4, 2 / 3)]
    expect(boundOfGain(pair, { sharesLink: true })).to.be.closeTo(10 / 8, 1e-12)
    expect(boundOfGain(pair, { sharesLink: false })).to.be.closeTo(10 / 6, 1e-12)
  })

  it('bounds the gain for the steps that the jobs make together', () => {
    const pair = [stepTimes(1, 3), stepTimes(1, 1)]
    expect(boundOfGain(pair, { sharesLink: true })).to.be.closeTo(6 / 4, 1e-12)
    expect(boundOfGain(pair, { sharesLink: true, steps: [1, 2] })).to.be.closeTo(8 / 5, 1e-12)
    // As many steps as each makes while the other makes one: neither is faster than alone.
    expect(boundOfGain(pair, { sharesLink: false, steps: [1, 4] })).to.be.closeTo(12 / 8, 1e-12)
  })

  it("has Jain's index: 1 for equal values, 1/n for one value alone", () => {
    expect(jainIndex([2, 2, 2])).to.equal(1)
    expect(jainIndex([5, 0, 0, 0])).to.equal(0.25)
    expect(jainIndex([1, 2])).to.be.closeTo(0.9, 1e-12)
  })

  it('counts a gain of 1 for jobs that have half their pace each, and fairness by the shares', () => {
    expect(gainOf([5, 50], [10, 100])).to.equal(1)
    expect(pacesOf([5, 3], [10, 0])).to.deep.equal([0.5, 0])
    expect(fairnessOf([7.5, 25], [10, 100], [3, 1])).to.equal(1)
    expect(fairnessOf([7.5, 25], [10, 100], [1, 1])).to.be.closeTo(0.8, 1e-12)
  })
})
