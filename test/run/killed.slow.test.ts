import { expect } from 'chai'
import type { Dataset } from '../../src/data/dataset.js'
import { openDataset } from '../../src/data/open.js'
import { generator } from '../engine/support/operator-case.js'
import { WAYS_TO_DIE } from '../fakes/dying-learner.js'
import { killedJob } from './support/killed-job.js'

const JOBS = 200
const UNDISTURBED = 10
const STEPS = 150

describe('200 training jobs with a learner killed at a random step', () => {
  it('all end, as accurate as undisturbed ones', async function () {
    this.timeout(1_800_000)
    const data: Dataset = await openDataset('digits', { samples: 2000 })
    const jobs = { until: { steps: STEPS }, optimiser: { milestones: [] } }
    const undisturbed: number[] = []
    for (let seed = 1; seed <= UNDISTURBED; seed++) {
      const { finished, lost } = await killedJob(data, { how: 'throw', victim: -1, after: 0 }, { ...jobs, seed })
      expect(lost).to.deep.equal([])
      undisturbed.push(finished.testAccuracy!)
    }
    const mean = undisturbed.reduce((sum, accuracy) => sum + accuracy, 0) / UNDISTURBED
    const std = Math.sqrt(undisturbed.reduce((sum, accuracy) => sum + (accuracy - mean) ** 2, 0) / (UNDISTURBED - 1))

    const random = generator(7)
    const accuracies: number[] = []
    for (let job = 0; job < JOBS; job++) {
      const how = WAYS_TO_DIE[job % WAYS_TO_DIE.length]!
      const death = { how, victim: Math.floor(2 * random()), after: Math.floor(STEPS * random()) }
      const { finished, lost } = await killedJob(data, death, { ...jobs, seed: 100 + job, supervision: { deadline: 500 } })
      const what = JSON.stringify({ job, ...death, lost })
      expect(lost, what).to.have.length(1)
      expect(finished, what).to.include({ reason: 'completed', iterations: STEPS })
      accuracies.push(finished.testAccuracy!)
    }
    const theirs = accuracies.reduce((sum, accuracy) => sum + accuracy, 0) / JOBS
    console.log(
      `undisturbed ${mean.toFixed(4)} +- ${std.toFixed(4)}, with a death ${theirs.toFixed(4)}, least ${Math.min(...accuracies).toFixed(4)}`
    )
    expect(Math.abs(theirs - mean)).to.be.at.most(3 * std)
    // Three deviations that ten runs were measured to have hold 98% of all that follow.
    expect(accuracies.filter((accuracy) => Math.abs(accuracy - mean) > 3 * std).length).to.be.at.most(JOBS / 20)
  })
})
