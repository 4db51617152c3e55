import { expect } from 'chai'
import { devicesFlag } from '../../src/cli/devices-flag.js'

describe('--devices', () => {
  it('takes a number, and the cores of each device', () => {
    expect(devicesFlag('2')).to.equal(2)
    expect(devicesFlag('0-2:3')).to.deep.equal([{ cores: [0, 1, 2] }, { cores: [3] }])
    expect(devicesFlag('0,4-5:1')).to.deep.equal([{ cores: [0, 4, 5] }, { cores: [1] }])
  })

  it('refuses anything else, and says what it is', () => {
    expect(() => devicesFlag('two')).to.throw('--devices: received "two"; use a whole number')
    for (const text of ['0:', '3-1', '0,a', '-1']) expect(() => devicesFlag(text), text).to.throw(`--devices: received "${text}"; use`)
  })
})
