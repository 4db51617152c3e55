import { expect } from 'chai'
import { RULES, tuningsOf } from '../../tta/cases.js'
import { findingsOf } from '../../tta/plan.js'
import { keyOf, type RunRecord, type RunSpec } from '../../tta/run.js'
import { failure, record, SMALL } from './fake.js'

/** Makes runs until none is left, or so many. */
function carriedOut(make: (spec: RunSpec) => RunRecord, records: RunRecord[] = [], most = Infinity): RunRecord[] {
  for (let made = 0; made < most; made++) {
    const { next, left } = findingsOf(SMALL, records)
    if (!next) return records
    records.push(make(next))
    expect(findingsOf(SMALL, records).left).to.equal(left - 1)
  }
  return records
}

/** The higher rate at batch 16 is the best, whatever the rule, and reached only with momentum. */
const made = (spec: RunSpec) => record(spec, (spec.batch === 16 ? 2 : 3) + (spec.tuning.rate === 0.02 ? 0 : 1), 2)

describe('the plan of a time-to-accuracy case', () => {
  it('gives every rule a grid of the same size, without a tuning twice', () => {
    const sizes = RULES.map((rule) => new Set(tuningsOf(SMALL, rule).map((tuning) => JSON.stringify(tuning))).size)
    expect(sizes).to.deep.equal([4, 4, 4])
  })

  it('looks for the batch, then tunes each method, then measures seed by seed', () => {
    const records = carriedOut(made)
    const { next, left, batch, tuningOf, measured } = findingsOf(SMALL, records)
    expect([next, left, batch]).to.deep.equal([undefined, 0, 16])
    expect(tuningOf({ rule: 'sma', learners: 2 })).to.deep.equal({ rate: 0.02, momentum: 0.9, syncMomentum: 0 })
    // Two batches of four tunings; five methods beside the first; six methods on three seeds.
    const count = (stage: string) => records.filter(({ spec }) => spec.stage === stage).length
    expect(['batch', 'tuning', 'measured'].map(count)).to.deep.equal([8, 20, 18])
    expect(measured.slice(0, 7).map(({ spec }) => `${spec.seed} ${spec.rule} ${spec.learners}`)).to.deep.equal([
      '1 ssgd 1',
      '1 sma 1',
      '1 easgd 1',
      '1 ssgd 2',
      '1 sma 2',
      '1 easgd 2',
      '2 ssgd 1'
    ])
    expect(new Set(records.map(({ spec }) => keyOf(spec))).size).to.equal(records.length)
  })

  it('tunes on a seed that is not measured, shortened as a whole', () => {
    const [first] = carriedOut(made)
    expect(first!.spec).to.include({ stage: 'batch', epochs: 4, evaluateEvery: 0.25 })
    expect(first!.spec.drops).to.deep.equal([2])
    expect(first!.spec.seed).to.be.greaterThan(SMALL.runs)
  })

  it('goes on after any number of runs as if it had never been ended', () => {
    const whole = carriedOut(made)
    for (const many of [7, 8, 28]) {
      const before = JSON.parse(JSON.stringify(carriedOut(made, [], many))) as RunRecord[]
      expect(carriedOut(made, before), String(many)).to.deep.equal(whole)
    }
  })

  it('takes the batch by seconds and the tuning by epochs', () => {
    const slowWhenLarge = (spec: RunSpec) => record(spec, spec.batch === 16 ? 2 : 3, spec.batch === 16 ? 9 : 1)
    expect(findingsOf(SMALL, carriedOut(slowWhenLarge)).batch).to.equal(8)
    const slowWhenFew = (spec: RunSpec) => record(spec, spec.tuning.momentum > 0 ? 2 : 3, spec.tuning.momentum > 0 ? 9 : 1)
    const { tuningOf } = findingsOf(SMALL, carriedOut(slowWhenFew))
    expect(tuningOf({ rule: 'easgd', learners: 2 })?.momentum).to.equal(0.9)
  })

  it('prefers what came nearer where nothing reached the target, and anything to what diverged', () => {
    const missed = (spec: RunSpec): RunRecord => {
      if (spec.tuning.momentum > 0)
        return { ...record(spec, 1), outcome: { end: 'diverged', points: [], imagesPerSecond: 0, otherWork: 0 } }
      return failure(spec, spec.tuning.rate === 0.1 ? 0.6 : 0.7)
    }
    const { tuningOf } = findingsOf(SMALL, carriedOut(missed))
    expect(tuningOf({ rule: 'sma', learners: 1 })).to.deep.equal({ rate: 0.2, momentum: 0, syncMomentum: 0.9 })
  })

  it('leaves out runs of a case that was otherwise', () => {
    const records = carriedOut(made)
    const { measured, next } = findingsOf({ ...SMALL, target: 0.95 }, records)
    expect([measured.length, next?.stage]).to.deep.equal([0, 'batch'])
  })
})
