import { expect } from 'chai'
import { caseNamed, caseNames, RULES, type TtaCase } from '../../tta/cases.js'
import type { PaceSpec } from '../../tta/pace.js'
import { findingsOf } from '../../tta/plan.js'
import { keyOf, type RunRecord, type RunSpec } from '../../tta/run.js'
import { carriedOut, failure, record, SMALL, type Files } from './fake.js'

const findings = ({ records, paces }: Files) => findingsOf(SMALL, records, paces)

/** The higher rate at batch 16 is the best, whatever the rule, and reached only with momentum. */
const made = (spec: RunSpec) => record(spec, (spec.batch === 16 ? 2 : 3) + (spec.tuning.rate === 0.02 ? 0 : 1))

describe('the plan of a time-to-accuracy case', () => {
  it('gives every rule a grid of the same size, without a tuning twice, and SMA a momentum of its own', () => {
    for (const one of caseNames.map(caseNamed)) {
      const sizes = RULES.map((rule) => new Set(one.tunings[rule].map((tuning) => JSON.stringify(tuning))).size)
      expect(sizes, one.name).to.deep.equal(RULES.map(() => one.tunings.ssgd.length))
      for (const { syncMomentum } of one.tunings.sma) expect(syncMomentum, one.name).to.be.greaterThan(0)
    }
  })

  it('looks for the batch, then tunes each method, then measures seed by seed', () => {
    const files = carriedOut(made)
    const { records } = files
    const { next, left, batch, tuningOf, measured } = findings(files)
    expect([next, left, batch]).to.deep.equal([undefined, 0, 16])
    expect(tuningOf({ rule: 'sma', learners: 2 })).to.deep.equal({ rate: 0.02, momentum: 0.9, syncMomentum: 0.5 })
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

  it('tunes on a seed that is not measured, shortened with its drops', () => {
    const [first] = carriedOut(made).records
    expect(first!.spec).to.include({ stage: 'batch', epochs: 4, evaluateEvery: 0.5 })
    expect(first!.spec.drops).to.deep.equal([2])
    expect(first!.spec.seed).to.be.greaterThan(SMALL.runs)
  })

  it('makes a run anew whose rate or precision is another', () => {
    const { spec } = carriedOut(made).records[0]!
    for (const other of [{ schedule: 'one-cycle' }, { precision: 'bf16' }] as const)
      expect(keyOf({ ...spec, ...other })).to.not.equal(keyOf(spec))
  })

  it('goes on after any number of runs as if it had never been ended', () => {
    const whole = carriedOut(made)
    for (const many of [7, 8, 28]) {
      const before = JSON.parse(JSON.stringify(carriedOut(made, { most: many }))) as Files
      expect(carriedOut(made, before), String(many)).to.deep.equal(whole)
    }
  })

  it('takes the batch by seconds and the tuning by epochs', () => {
    const fewWhenLarge = (spec: RunSpec) => record(spec, spec.batch === 16 ? 2 : 3)
    const slow = { seconds: ({ batch }: PaceSpec) => (batch === 16 ? 9 : 1) }
    expect(findings(carriedOut(fewWhenLarge, slow)).batch).to.equal(8)
    expect(findings(carriedOut(fewWhenLarge)).batch).to.equal(16)
    const fewWithMomentum = (spec: RunSpec) => record(spec, spec.tuning.momentum > 0 ? 2 : 3)
    expect(findings(carriedOut(fewWithMomentum)).tuningOf({ rule: 'easgd', learners: 2 })?.momentum).to.equal(0.9)
  })

  it('gives a run up where another of its contest has reached the target at less cost, and never a measured one', () => {
    const limits: [RunSpec, number][] = []
    const files = carriedOut(
      (spec, giveUpAt) => {
        limits.push([spec, giveUpAt])
        return record(spec, 1)
      },
      // The batches' contest is by seconds: an epoch at the larger one may cost half as many.
      { seconds: ({ batch }) => (batch === 16 ? 1 : 2) }
    )
    expect(findings(files).batch).to.equal(16)
    const of = (stage: string) => limits.filter(([spec]) => spec.stage === stage).map(([, limit]) => limit)
    expect(of('batch')).to.deep.equal([2, 1, 1, 1, 2, 1, 1, 1])
    expect(of('tuning')).to.deep.equal(Array.from({ length: 5 }, () => [4, 1, 1, 1]).flat())
    expect(new Set(of('measured'))).to.deep.equal(new Set([8]))
  })

  it('has paces measured before the batch is chosen, and before the first measured run', () => {
    const asked: string[] = []
    const seconds = ({ rule, learners, batch }: PaceSpec) => {
      asked.push(`${rule} ${learners} ${batch}`)
      return 2
    }
    const files = carriedOut(made, { seconds })
    expect(asked).to.deep.equal(['ssgd 1 8', 'ssgd 1 16', ...[1, 2].flatMap((k) => RULES.map((rule) => `${rule} ${k} 16`))])
    const early = findings({ ...files, records: files.records.slice(0, 28), paces: { batches: files.paces.batches! } })
    expect(early.next).to.include({ set: 'methods' })
  })

  it('prefers what came nearer where nothing reached the target, and anything to what diverged', () => {
    const missed = (spec: RunSpec): RunRecord => {
      if (spec.tuning.momentum > 0) return { ...record(spec, 1), outcome: { end: 'diverged', points: [] } }
      return failure(spec, spec.tuning.rate === 0.1 ? 0.6 : 0.7)
    }
    const { tuningOf } = findings(carriedOut(missed))
    expect(tuningOf({ rule: 'sma', learners: 1 })).to.deep.equal({ rate: 0.2, momentum: 0, syncMomentum: 0.9 })
  })

  it('has the two best of a grid decide on a second seed', () => {
    const of: TtaCase = { ...SMALL, finalists: 2 }
    // The luckiest of the first seed does not reach the target on the second.
    const lucky = ({ tuning }: RunSpec) => tuning.rate === 0.01
    const epochs = (spec: RunSpec) => (spec.batch === 16 ? 1 : 1.8) + (lucky(spec) ? 0 : 0.5) + (spec.tuning.momentum > 0 ? 0 : 1)
    const files = carriedOut((spec) => (lucky(spec) && spec.seed === 1002 ? failure(spec, 0.8) : record(spec, epochs(spec))), { of })
    const found = findingsOf(of, files.records, files.paces)
    expect([found.batch, found.left, found.next]).to.deep.equal([16, 0, undefined])
    expect(found.tuningOf({ rule: 'easgd', learners: 2 })).to.deep.equal({ rate: 0.02, momentum: 0.9, syncMomentum: 0 })
    const { records } = carriedOut((spec) => record(spec, epochs(spec)), { of })
    expect(records.filter(({ spec }) => spec.seed === 1002)).to.have.length(2 * 6)
    expect(findingsOf(of, records, files.paces).tuningOf({ rule: 'easgd', learners: 2 })?.rate).to.equal(0.01)
  })

  it('makes a run again that was given up before it could not be a finalist', () => {
    const { records, paces } = carriedOut((spec, giveUpAt) => {
      const epochs = 1 + 3 * (spec.tuning.rate === 0.02 ? 0 : 1)
      if (epochs <= giveUpAt || spec.stage === 'measured') return record(spec, epochs)
      return { ...failure(spec, 0.8), outcome: { end: 'givenUp', points: [{ epoch: giveUpAt, accuracy: 0.8 }] } }
    })
    const { next, left } = findingsOf(SMALL, records, paces)
    expect([next, left]).to.deep.equal([undefined, 0])
    const again = findingsOf({ ...SMALL, finalists: 2 }, records, paces).next
    expect(again && 'runs' in again && new Set(again.runs.map(({ run }) => run.stage))).to.deep.equal(new Set(['batch']))
  })

  it('gives batches as many seconds where runs are too short for the target, and takes what they come to on one cycle', () => {
    const of: TtaCase = { ...SMALL, schedule: 'one-cycle', drops: [] }
    const seconds = ({ batch }: PaceSpec) => (batch === 16 ? 1 : 2)
    // The smaller batch comes as far in fewer epochs; what is reached before the end does not count.
    const short = (spec: RunSpec): RunRecord => {
      if (spec.stage === 'measured') return record(spec, 4)
      const { end, points } = failure(spec, spec.batch === 8 ? 0.7 : 0.8).outcome
      const last = { epoch: spec.epochs, accuracy: spec.batch === 8 ? 0.8 : 0.7 }
      return { ...record(spec, 4), outcome: { end, points: [...points, last] } }
    }
    const { records, paces } = carriedOut(short, { of, seconds })
    expect(findingsOf(of, records, paces).batch).to.equal(8)
    expect(new Set(records.filter(({ spec }) => spec.stage === 'batch').map(({ spec }) => `${spec.batch} ${spec.epochs}`))).to.deep.equal(
      new Set(['8 2', '16 4'])
    )
    expect(new Set(records.filter(({ spec }) => spec.stage === 'tuning').map(({ spec }) => spec.epochs))).to.deep.equal(new Set([4]))
  })

  it('leaves out runs of a case that was otherwise', () => {
    const { records, paces } = carriedOut(made)
    const { measured, next } = findingsOf({ ...SMALL, target: 0.95 }, records, paces)
    expect([measured.length, next && 'runs' in next && next.runs[0]!.run.stage]).to.deep.equal([0, 'batch'])
  })
})
