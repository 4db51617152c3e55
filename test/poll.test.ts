import { expect } from 'chai'
import { poll } from '../src/poll.js'
import { rejection } from './support/rejection.js'

describe('poll', () => {
  it('looks until there is something', async () => {
    const found = [undefined, null, false, { round: 3 }, { round: 4 }]
    expect(await poll(() => found.shift(), 1)).to.deep.equal({ round: 3 })
    expect(found).to.deep.equal([{ round: 4 }])
  })

  it('waits for looks that take time', async () => {
    let looks = 0
    expect(await poll(async () => ++looks === 3, 1)).to.equal(true)
  })

  it('rejects with what a look throws', async () => {
    const lost = () => {
      throw new Error('it is lost')
    }
    expect(await rejection(poll(lost, 1))).to.have.property('message', 'it is lost')
  })
})
