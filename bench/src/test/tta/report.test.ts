import { expect } from 'chai'
import { curvesOf } from '../../tta/curves.js'
import { estimate, product } from '../../tta/estimate.js'
import { findingsOf } from '../../tta/plan.js'
import { plotOf } from '../../tta/plot.js'
import { reportOf, type ReportedCase } from '../../tta/report.js'
import type { RunRecord, RunSpec } from '../../tta/run.js'
import { summaries } from '../../tta/summary.js'
import { carriedOut, failure, record, SMALL, type Files } from './fake.js'

/** SMA takes half the epochs of S-SGD with two learners, EA-SGD the same, and with one learner SMA fails on the third seed. */
function make(spec: RunSpec): RunRecord {
  const seed = spec.stage === 'measured' ? 0.1 * spec.seed : 0
  if (spec.stage === 'measured' && spec.rule === 'sma' && spec.learners === 1 && spec.seed === 3) return failure(spec, 0.8)
  return record(spec, (spec.rule === 'sma' && spec.learners === 2 ? 2 : 4) * (1 + seed))
}

/** Two learners are twice as fast as one. */
const whole = () => reported(carriedOut(make, { seconds: ({ learners }) => 4 / learners }))

function reported({ records, paces }: Files): ReportedCase {
  return { one: SMALL, records, paces, findings: findingsOf(SMALL, records, paces) }
}

describe('the report of times to accuracy', () => {
  it('tells means, spreads and paired ratios over the runs that reached the target', () => {
    const { findings, paces } = whole()
    const told = summaries(SMALL, findings, paces.methods)
    const of = (rule: string, learners: number) => told.find((method) => method.rule === rule && method.learners === learners)!
    expect(of('sma', 2).epochs?.mean).to.be.closeTo(2 * 1.2, 1e-9)
    expect(of('sma', 2).epochs?.deviation).to.be.closeTo(0.2, 1e-9)
    expect(of('sma', 2).seconds?.mean).to.be.closeTo(2 * of('sma', 2).epochs!.mean, 1e-9)
    expect(of('sma', 2).sooner?.mean).to.be.closeTo(2, 1e-9)
    expect(of('sma', 1).secondsAnEpoch?.map((seconds) => seconds.toFixed(3))).to.deep.equal(['3.600', '4.000', '4.400'])
    expect(of('sma', 1)).to.include({ runs: 3, reached: 2 })
    expect(of('sma', 1).epochs).to.include({ n: 2 })
    expect(of('ssgd', 2).sooner).to.equal(undefined)
  })

  it('says who wins, who does not, and who does not arrive', () => {
    const text = reportOf([whole()])
    expect(text).to.contain('SMA, 2 learners: fewer epochs than S-SGD (2.00 ± 0.00)')
    expect(text).to.contain("EA-SGD, 2 learners: epochs not to be told from S-SGD's")
    expect(text).to.contain('SMA, 1 learner: reached the target in 2 of 3 runs only')
    expect(text).to.contain('46 runs, 23 minutes, on a processor, 2 cores; commit abc')
    expect(text).not.to.contain('NaN')
  })

  it('calls no winner where so few seeds are so far apart', () => {
    const spread = [1.25, 1.053, 1.143]
    const far = (spec: RunSpec) => record(spec, spec.rule === 'sma' && spec.stage === 'measured' ? 4 / spread[spec.seed - 1]! : 4)
    expect(reportOf([reported(carriedOut(far))])).to.contain("SMA, 2 learners: epochs not to be told from S-SGD's (1.15 ± 0.25)")
  })

  it('says so where it is not whole, and where the machine was not quiet', () => {
    const { records, paces } = whole()
    const loud = { ...paces, methods: { ...paces.methods!, otherWork: 1 } }
    const text = reportOf([reported({ records: records.slice(0, 36), paces: loud })])
    expect(text).to.contain('8 measured runs so far, 10 runs are missing')
    expect(text).to.contain('had other work while paces were measured (1.0 cores)')
    expect(reportOf([reported({ records: [], paces: {} })])).not.to.contain('| learners |')
  })

  it('tells epochs alone where paces have not been measured', () => {
    const { records, paces } = whole()
    const text = reportOf([reported({ records, paces: { batches: paces.batches! } })])
    expect(text).to.match(/\| 2 \| SMA \|.*2\.40 ± 0\.20.*\| – \| – \|/)
    expect(text).to.contain('SMA, 2 learners: fewer epochs than S-SGD (2.00 ± 0.00).')
    expect(text).not.to.contain('.svg')
  })

  it('names whose rate lies at an end of its grid', () => {
    const three = [0.01, 0.02, 0.04].map((rate) => ({ rate, momentum: 0.9, syncMomentum: 0 }))
    const of = { ...SMALL, tunings: { ...SMALL.tunings, ssgd: three, easgd: three } }
    const best = (spec: RunSpec) => record(spec, spec.rule === 'easgd' ? 2 + spec.tuning.rate : 2 + Math.abs(spec.tuning.rate - 0.02))
    const { records, paces } = carriedOut(best, { of })
    const [line] = reportOf([{ one: of, records, paces, findings: findingsOf(of, records, paces) }]).match(/- The best rate .*/)!
    expect(line)
      .to.contain('EA-SGD with 1, ')
      .and.not.to.match(/[ ,]S-SGD/)
  })

  it('calls no winner by seconds where the paces are far apart', () => {
    const { records, paces } = carriedOut((spec) => record(spec, 4))
    const methods = {
      ...paces.methods!,
      paces: paces.methods!.paces.map((pace) => (pace.rule === 'sma' ? { ...pace, secondsAnEpoch: [1, 2.6] } : pace))
    }
    const text = reportOf([reported({ records, paces: { ...paces, methods } })])
    expect(text).to.match(/SMA, 2 learners: epochs .*, seconds not to be told from S-SGD's/)
  })

  it('draws a mean to its end, without runs that diverged', () => {
    const diverging = (spec: RunSpec): RunRecord => {
      if (spec.stage !== 'measured' || spec.seed < 3) return record(spec, 4)
      return { ...record(spec, 4), outcome: { end: 'diverged', points: [{ epoch: 0.5, accuracy: 0.1 }] } }
    }
    const { findings, paces } = reported(carriedOut(diverging, { seconds: () => 2 / 3 }))
    const { runs, means } = curvesOf(SMALL, findings, paces.methods!)
    expect(means.filter(({ rule, learners }) => rule === 'SMA' && learners === 2).at(-1)!.accuracy).to.equal(0.91)
    expect(runs.filter(({ seed }) => seed === 3)).to.have.length(6)
  })

  it('draws a method that never reached the target', async () => {
    const failing = (spec: RunSpec) => (spec.stage === 'measured' && spec.rule === 'easgd' ? failure(spec, 0.8) : record(spec, 4))
    const { findings, paces } = reported(carriedOut(failing))
    expect(await plotOf(SMALL, findings, paces.methods!)).to.contain('(0/3)')
  })

  it('draws a plot of all that was measured', async () => {
    const { findings, paces } = whole()
    const svg = await plotOf(SMALL, findings, paces.methods!)
    for (const text of ['<svg', 'S-SGD', 'SMA', 'EA-SGD', '1 learner', '2 learners', 'epochs to the target', '(2/3)'])
      expect(svg).to.contain(text)
    expect(svg).not.to.contain('NaN')
  })
})

describe('estimate', () => {
  it('has the sample deviation, and the 95% interval of the mean', () => {
    const three = estimate([1, 2, 3])!
    expect(three).to.include({ mean: 2, deviation: 1, n: 3 })
    expect(three.error).to.be.closeTo(4.303 / Math.sqrt(3), 1e-9)
    expect(estimate([5])).to.deep.equal({ mean: 5, deviation: 0, n: 1, error: Infinity })
    expect(estimate([])).to.equal(undefined)
  })

  it('is no surer than the factor it is multiplied by', () => {
    const sure = estimate([1.1, 1.1, 1.1])!
    const factor = estimate([0.9, 1, 1.1])!
    expect(product(sure, factor).error).to.be.closeTo(1.1 * factor.error, 1e-9)
    expect(product(sure, factor).mean).to.be.closeTo(1.1, 1e-9)
  })
})
