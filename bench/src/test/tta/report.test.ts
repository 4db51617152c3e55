import { expect } from 'chai'
import { findingsOf, type Findings } from '../../tta/plan.js'
import { plotOf } from '../../tta/plot.js'
import { reportOf } from '../../tta/report.js'
import type { RunRecord, RunSpec } from '../../tta/run.js'
import { estimate, summaries } from '../../tta/summary.js'
import { failure, record, SMALL } from './fake.js'

/** SMA takes half the epochs of S-SGD with two learners, EA-SGD the same, and with one learner SMA fails on the third seed. */
function make(spec: RunSpec): RunRecord {
  const seed = spec.stage === 'measured' ? 0.1 * spec.seed : 0
  if (spec.stage === 'measured' && spec.rule === 'sma' && spec.learners === 1 && spec.seed === 3) return failure(spec, 0.8)
  return record(spec, (spec.rule === 'sma' && spec.learners === 2 ? 2 : 4) * (1 + seed))
}

function whole(): { readonly records: readonly RunRecord[]; readonly findings: Findings } {
  const records: RunRecord[] = []
  for (let next = findingsOf(SMALL, records).next; next; next = findingsOf(SMALL, records).next) records.push(make(next))
  return { records, findings: findingsOf(SMALL, records) }
}

describe('the report of times to accuracy', () => {
  it('tells means, spreads and paired ratios over the runs that reached the target', () => {
    const told = summaries(SMALL, whole().findings)
    const of = (rule: string, learners: number) => told.find((method) => method.rule === rule && method.learners === learners)!
    expect(of('sma', 2).epochs?.mean).to.be.closeTo(2 * 1.2, 1e-9)
    expect(of('sma', 2).epochs?.deviation).to.be.closeTo(0.2, 1e-9)
    expect(of('sma', 2).sooner?.mean).to.be.closeTo(2, 1e-9)
    expect(of('sma', 1)).to.include({ runs: 3, reached: 2 })
    expect(of('sma', 1).epochs).to.deep.include({ n: 2 })
    expect(of('ssgd', 2).sooner).to.equal(undefined)
  })

  it('says who wins, who does not, and who does not arrive', () => {
    const { records, findings } = whole()
    const text = reportOf([{ one: SMALL, findings, records }])
    expect(text).to.contain('SMA, 2 learners: fewer epochs than S-SGD (2.00 ± 0.00)')
    expect(text).to.contain("EA-SGD, 2 learners: epochs not to be told from S-SGD's")
    expect(text).to.contain('SMA, 1 learner: reached the target in 2 of 3 runs only')
    expect(text).to.contain('46 runs, 23 minutes; commit abc')
    expect(text).not.to.contain('NaN')
  })

  it('says so where it is not whole, and where the machine was not quiet', () => {
    const records = whole()
      .records.slice(0, 36)
      .map((each) => ({ ...each, outcome: { ...each.outcome, otherWork: 1 } }))
    const text = reportOf([{ one: SMALL, findings: findingsOf(SMALL, records), records }])
    expect(text).to.contain('8 measured runs so far, 10 runs are still to be made')
    expect(text).to.contain('8 of 8 measured runs were made on a machine that had other work')
    expect(reportOf([{ one: SMALL, findings: findingsOf(SMALL, []), records: [] }])).not.to.contain('| learners |')
  })

  it('draws a plot of all that was measured', async () => {
    const svg = await plotOf(SMALL, whole().findings)
    for (const text of ['<svg', 'S-SGD', 'SMA', 'EA-SGD', '1 learner', '2 learners', 'epochs to the target', '(2/3)'])
      expect(svg).to.contain(text)
    expect(svg).not.to.contain('NaN')
  })
})

describe('estimate', () => {
  it('has the sample deviation', () => {
    expect(estimate([1, 2, 3])).to.deep.equal({ mean: 2, deviation: 1, n: 3 })
    expect(estimate([5])).to.deep.equal({ mean: 5, deviation: 0, n: 1 })
    expect(estimate([])).to.equal(undefined)
  })
})
