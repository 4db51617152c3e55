import { expect } from 'chai'
import fc from 'fast-check'
import { countOf } from '../support/count.js'
import { ENDLESS, WARM, messagedRun, expectRepeated, expectResumed, expectSurvivesKills, remove } from './support/messaged-run.js'
import { randomOptions } from './support/random-options.js'
import { manyRounds } from './support/talked-to.js'

const MESSAGES = countOf('ARBALEST_SOAK_MESSAGES', 10_000)
const RUNS = countOf('ARBALEST_SOAK_RUNS', 100)

describe(`a run that is sent ${MESSAGES} messages from several threads`, () => {
  it('answers all of them, and is repeated and resumed to the same weights', async () => {
    const run = await messagedRun(MESSAGES, { seed: 3 })
    expect(run.chatter.reduce((sum, each) => sum + each.answered, 0)).above(0.8 * MESSAGES)
    await expectRepeated(run)
    await expectResumed(run)
    remove(run)
  }).timeout(3_600_000)

  it('goes on from where SIGKILL has left it, again and again, to the weights of the run that does the same undisturbed', () =>
    expectSurvivesKills([1, 2, 3, 4, 5].map((seed) => ({ seed, checkpoints: 4 + seed })))).timeout(3_600_000)

  it('answers all of them while learners die, and is repeated and resumed to the same weights', async () => {
    const run = await messagedRun(MESSAGES, { seed: 5, deadly: true })
    expect(run.finished.reason).to.equal('stopped')
    expect(run.finished.interventions!.filter(({ kind }) => kind === 'death').length).above(MESSAGES / 100)
    await expectRepeated(run)
    await expectResumed(run)
    remove(run)
  }).timeout(3_600_000)
})

describe(`${RUNS} runs of all kinds that are sent messages from several threads`, () => {
  it('are repeated and resumed to the same weights', () =>
    fc.assert(
      fc.asyncProperty(randomOptions, fc.boolean(), fc.nat(1000), async (options, own, seed) => {
        const given = await manyRounds({ ...ENDLESS, ...options, ...(own && WARM) })
        const run = await messagedRun(45, { seed, deadly: own }, given)
        await expectRepeated(run)
        await expectResumed(run)
        remove(run)
      }),
      // Runs that differ in time do not shrink.
      { numRuns: RUNS, endOnFailure: true }
    )).timeout(3_600_000)
})
