import { expect } from 'chai'
import { changingJob } from './support/changing-job.js'

describe('a job whose learners come and go', () => {
  it('runs every round of a schedule with many changes, to the same weights each time', async () => {
    const { finished, changes } = await changingJob({ changes: 6, deadly: false })
    expect([finished.iterations, changes]).to.deep.equal([175, 6])
    expect((await changingJob({ changes: 6, deadly: false })).finished.weightsSha256).to.equal(finished.weightsSha256)
  })

  it('goes on where they also die', async () => {
    const { finished, changes, lost } = await changingJob({ changes: 8, deadly: true })
    expect(finished).to.include({ reason: 'completed', iterations: 225 })
    expect(changes).to.equal(8)
    expect(lost).to.be.greaterThan(1)
  })
})
