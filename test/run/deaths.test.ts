import { expectDeathsRepeated } from './support/deaths.js'

describe('a run whose learners die at random', () => {
  it('is repeated bit for bit with its record', () => expectDeathsRepeated({ devices: 2, learners: 3 }, { steps: 60, life: 15 })).timeout(
    120_000
  )
})
