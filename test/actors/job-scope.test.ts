import { expect } from 'chai'
import { ArbalestError } from '../../src/errors.js'
import { runAllCleanUps } from '../../src/actors/job-scope.js'
import { warningsIn } from '../support/warnings.js'

describe('The end of a run', () => {
  it('takes every step in order; a step that fails is a warning', async () => {
    const done: string[] = []
    const warnings = await warningsIn(() =>
      runAllCleanUps(
        () => {
          done.push('a')
          throw new Error('of a')
        },
        async () => {
          await Promise.resolve()
          done.push('b')
          throw new ArbalestError('ACTOR_GONE', 'b is gone')
        },
        () => done.push('c')
      )
    )
    expect(done).to.deep.equal(['a', 'b', 'c'])
    expect(warnings).to.have.length(1)
    expect(warnings[0]).to.contain('of a')
  })
})
