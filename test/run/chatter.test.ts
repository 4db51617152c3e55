import { expect } from 'chai'
import { itSeldom } from '../support/seldom.js'
import { messagedRun, expectRepeated, expectResumed, expectSurvivesKills, remove } from './support/messaged-run.js'

describe('a run that several threads talk to at random times', () => {
  itSeldom('answers every ask, ends right, and is repeated and resumed to the same weights', async function (this: Mocha.Context) {
    this.timeout(120_000)
    const run = await messagedRun(90)
    const answered = run.chatter.reduce((sum, each) => sum + each.answered, 0)
    expect(answered).above(60)
    for (const { refused } of run.chatter) expect(Object.keys(refused)).to.satisfy((codes: string[]) => codes.every(isExpected))
    expect(run.finished.reason).to.equal('stopped')
    await expectRepeated(run)
    await expectResumed(run)
    remove(run)
  })

  it('goes on from where SIGKILL has left it to the weights of the run that does the same undisturbed', () =>
    expectSurvivesKills([{ seed: 1, checkpoints: 1 }])).timeout(120_000)

  it('answers every ask and ends right while learners die, and is repeated and resumed to the same weights', async () => {
    const run = await messagedRun(60, { seed: 7, deadly: true })
    expect(run.chatter.reduce((sum, each) => sum + each.answered, 0)).above(20)
    expect(run.finished.reason).to.equal('stopped')
    await expectRepeated(run)
    await expectResumed(run)
    remove(run)
  }).timeout(120_000)
})

/** The refusals of wrong messages; a place may have gone before a message reaches it. */
function isExpected(code: string): boolean {
  return code === 'INVALID_OPTION'
}
