import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { changingJob } from './support/changing-job.js'

const ports = () => process.getActiveResourcesInfo().filter((resource) => resource === 'MessagePort').length

describe('a job whose learners come, go and die a hundred times', function () {
  this.timeout(600_000)

  it('ends with every round whole, no thread left and its memory given back', async () => {
    await changingJob({ changes: 20, deadly: true })
    await sleep(500)
    const before = { ports: ports(), rss: process.memoryUsage().rss }
    const { finished, changes, lost } = await changingJob({ changes: 100, deadly: true })
    expect(finished.reason).to.equal('completed')
    expect(changes).to.equal(100)
    expect(lost).to.be.greaterThan(20)
    await sleep(500)
    expect(ports()).to.equal(before.ports)
    // Ten learners that stayed would hold as much.
    expect(process.memoryUsage().rss - before.rss).to.be.lessThan(100 * 2 ** 20)
  })
})
