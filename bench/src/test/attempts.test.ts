import { expect } from 'chai'
import { Attempts } from '../attempts.js'
import { Side } from '../side.js'

describe('Attempts', () => {
  it('go on after one that failed, and keep its words', async () => {
    const attempts = new Attempts()
    const ended = { program: process.execPath, args: ['-e', 'throw new RangeError("no such model")'] }
    expect(await attempts.of('first', () => Side.start([ended]))).to.equal(undefined)
    expect(await attempts.of('second', () => Promise.resolve(7))).to.equal(7)
    expect(Object.keys(attempts.failures)).to.deep.equal(['first'])
    expect(attempts.failures['first']).to.include('no such model')
  })
})
