import { expect } from 'chai'
import { someRoundsLater, trainManyRounds } from './support/talked-to.js'

/** A busy machine may hold up any thread for so long. */
const PATIENCE = 400

describe('a run that is asked to pause', () => {
  it('rests within a step and 50 ms', async () => {
    const job = await trainManyRounds({ until: { steps: 100_000 }, evaluateEvery: 1e9 })
    const { synchroniser } = job.actors
    const waits: number[] = []
    for (let i = 0; i < 15; i++) {
      await someRoundsLater(job, 5)
      const start = performance.now()
      await synchroniser.ask.pause()
      waits.push(performance.now() - start)
      await synchroniser.ask.resume()
    }
    job.stop()
    await job.finished
    waits.sort((a, b) => a - b)
    expect(waits[7], `median of ${waits.map(Math.round).join(' ')}`).below(60)
    expect(waits.at(-1), `longest of ${waits.map(Math.round).join(' ')}`).below(PATIENCE)
  }).timeout(60_000)
})
