import { expect } from 'chai'
import fc from 'fast-check'
import { boundOfGain, fairnessOf, gainOf, jainIndex, median, orderOfTurns, pacesOf } from '../../src/crossover/figures.js'

const times = fc.record({
  compute: fc.double({ min: 1e-3, max: 10, noNaN: true }),
  communicate: fc.double({ min: 0, max: 10, noNaN: true })
})

describe('figures of jobs on one device', () => {
  it('bounds the gain by (c1 + c2 + x1 + x2) / max(c1 + c2, x1 + x2, c1 + x1, c2 + x2)', () => {
    const pair = [
      { compute: 0.03, communicate: 0.044 },
      { compute: 0.004, communicate: 0.069 }
    ]
    expect(boundOfGain(pair, { sharesLink: true })).to.be.closeTo(0.147 / 0.113, 1e-12)
    expect(boundOfGain(pair, { sharesLink: false })).to.be.closeTo(0.147 / 0.074, 1e-12)
    expect(
      boundOfGain(
        [
          { compute: 1, communicate: 0 },
          { compute: 2, communicate: 0 }
        ],
        { sharesLink: true }
      )
    ).to.equal(1)
    fc.assert(
      fc.property(fc.array(times, { minLength: 2, maxLength: 5 }), fc.boolean(), (jobs, sharesLink) => {
        expect(boundOfGain(jobs, { sharesLink })).within(1 - 1e-9, jobs.length)
      })
    )
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

  it('gives orders of at most 8 turns a job in which each job has its share of the time', () => {
    expect(
      orderOfTurns([
        { compute: 1, share: 1 },
        { compute: 1.2, share: 1 }
      ])
    ).to.equal(undefined)
    expect(
      orderOfTurns([
        { compute: 1, share: 1 },
        { compute: 3, share: 1 }
      ])
    ).to.deep.equal([0, 0, 1, 0])
    expect(
      orderOfTurns([
        { compute: 1, share: 2 },
        { compute: 1, share: 1 }
      ])
    ).to.deep.equal([0, 1, 0])
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 2, maxLength: 4 }), (turns) => {
        // Turns of lengths for which these numbers of turns are right.
        const least = Math.min(...turns)
        const order = orderOfTurns(turns.map((count) => ({ compute: 1 / count, share: 1 }))) ?? turns.map((_, job) => job)
        for (const [job, count] of turns.entries()) {
          const made = order.filter((each) => each === job).length
          expect(made).within(1, 8)
          expect(Math.abs(made - count / least)).below(0.5 + 1e-9)
        }
      })
    )
  })

  it('has medians', () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3])]).to.deep.equal([2, 2.5])
    expect(median([])).to.satisfy(Number.isNaN)
  })
})
