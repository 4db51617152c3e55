import { expect } from 'chai'
import { train } from '../../src/run/train.js'
import type { Intervention } from '../../src/schedules/interventions.js'
import { expectDeathsRepeated } from './support/deaths.js'
import { endlessOptions } from './support/messaged-run.js'

describe('a run whose learners die at random', () => {
  it('is repeated bit for bit with its record', () => expectDeathsRepeated({ devices: 2, learners: 3 }, { steps: 60, life: 15 })).timeout(
    120_000
  )
})

describe('a death of a recorded run', () => {
  it('is in the rounds that it was in, also where the message that the learner dies of lets it die before the others rest', async () => {
    const options = { ...(await endlessOptions()), until: { steps: 40 } }
    const death: Intervention = { round: 3, iteration: 3, kind: 'death', place: 1, iterations: 0, until: 5, brought: [] }
    const join: Intervention = { round: 20, iteration: 20, kind: 'join', place: 1 }
    const message: Intervention = { round: 2, iteration: 2, kind: 'message', place: 1, method: 'die', args: [] }
    const planned = await train({ ...options, interventions: [death, join] }).finished
    const ofItself = await train({ ...options, interventions: [message, death, join] }).finished
    expect(ofItself.interventions).to.deep.equal([message, death, join])
    expect(ofItself.weightsSha256).to.equal(planned.weightsSha256)
    const without = await train({ ...options, interventions: [{ ...death, until: 4 }, join] }).finished
    expect(without.weightsSha256).to.not.equal(planned.weightsSha256)
  })

  it('of its only learner in its last round leaves the run complete', async () => {
    const options = {
      ...(await endlessOptions()),
      learners: 1,
      until: { steps: 4 },
      synchroniser: { name: 'local-sgd', period: 2 }
    } as const
    const death: Intervention = { round: 1, iteration: 2, kind: 'death', place: 0, iterations: 1, until: 2, brought: [] }
    const finished = await train({ ...options, interventions: [death] }).finished
    expect(finished).to.include({ reason: 'completed', iterations: 4 })
  })
})
