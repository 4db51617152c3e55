import { expect } from 'chai'
import { ArbalestError } from '../../src/errors.js'
import { afterwards } from '../../src/run/afterwards.js'
import { warningsIn } from '../support/warnings.js'

describe('What follows a run', () => {
  it('is done to its end in its order, whatever of it fails, which is a warning', async () => {
    const done: string[] = []
    const warnings = await warningsIn(() =>
      afterwards(
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
