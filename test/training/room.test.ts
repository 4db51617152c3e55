import { expect } from 'chai'
import { checkMemory, refusalOf, roomFor } from '../../src/training/room.js'
import { refused } from '../support/codes.js'

const MIB = 2 ** 20

describe('the room for learners', () => {
  const need = { perLearner: 68 * MIB, shared: 100 * MIB }

  it('is that of each device, in each of which all lies that learners share', () => {
    // With what a thread takes, and a quarter of it to spare, a learner is 125 MiB.
    expect(roomFor(need, { free: 450 * MIB, devices: 1 })).to.equal(2)
    expect(roomFor(need, { free: 450 * MIB, devices: 4 })).to.equal(8)
    expect(roomFor(need, { free: 90 * MIB, devices: 4 })).to.equal(0)
  })

  it('is looked at on the device that gets most of them', async () => {
    checkMemory(need, 5, { free: (100 + 2 * 68) * MIB, devices: 4 })
    const crowded = () => checkMemory(need, 9, { free: (100 + 2 * 68) * MIB, devices: 4 })
    await refused('OUT_OF_MEMORY', crowded, 'received 9', 'together 304.0 MiB on a device', 'use at most 8')
    expect(refusalOf(need, 4, { free: 125 * MIB, devices: 4 })).to.equal(undefined)
    expect(refusalOf(need, 5, { free: 125 * MIB, devices: 4 })).to.match(/^no memory for 5 more: 250.0 MiB are wanted where 125.0 MiB/)
  })
})
