import { expect } from 'chai'
import { eventsOf, SHORT, together } from './support/together.js'

/** Every learner but the first ones ends its own thread after some steps, or leaves a step half done; so does one of the first four. */
const DEADLY = `data:text/javascript,${encodeURIComponent(`export default ({ replica, learner }) => {
  let steps = 0
  return async () => {
    if ((learner === 1 || learner > 3) && ++steps > 5) {
      await replica.load()
      if (learner % 4 === 1) throw new Error('told to die')
      process.exit(3)
    }
    await replica.run(1)
  }
}`)}`

describe('A run over hosts whose learners die a hundred times', function () {
  this.timeout(600_000)

  it('goes on to its end, with one central model', async () => {
    const jobs = together({ ...SHORT, learner: new URL(DEADLY), supervision: { restarts: 1000 }, until: { steps: 8000 } })
    let deaths = 0
    jobs[0]!.on('learnerLost', () => {
      if (++deaths === 100) jobs[0]!.stop()
    })
    const events = await eventsOf(jobs[0]!)
    expect(deaths).to.be.at.least(100)
    expect(events.at(-1)).to.include({ event: 'finished', learners: 4 })
    // All in the places of the host whose first learner died.
    for (const event of events) if (event.event === 'learnerLost') expect(event.rank % 2).to.equal(1)
    const [one, two] = await Promise.all(jobs.map(({ model }) => model.weights()))
    expect(one).to.deep.equal(two)
  })
})
