import { expect } from 'chai'
import { chosen, rateName } from '../hosts/cases.js'

describe('the cases of hosts', () => {
  it('are those that the words name', () => {
    const { kinds, hosts, mbit } = chosen(['exchange h4 200mbit', '1gbit'])
    expect([...kinds]).to.deep.equal(['exchange'])
    expect({ hosts, mbit }).to.deep.equal({ hosts: [4], mbit: [200, 1000] })
    expect(chosen(['tta', 'lenet', 'h4', '50mbit', 'sma'])).to.deep.include({ models: ['lenet'], rules: ['sma'], mbit: [50] })
    expect(chosen(['resnet20 b16 h2'])).to.deep.include({ models: ['resnet20'], batches: [16], hosts: [2] })
  })

  it('are of all kinds without words', () => {
    expect([...chosen([]).kinds]).to.deep.equal(['exchange', 'throughput', 'tta'])
  })

  it('have names that are words again', () => {
    for (const mbit of [50, 200, 1000, 1500]) expect(chosen([rateName(mbit)]).mbit).to.deep.equal([mbit])
  })

  it('are not those of words that mean nothing', () => {
    expect(() => chosen(['exchange', 'h9']))
      .to.throw(/h9/)
      .with.property('code', 'UNKNOWN_NAME')
    expect(() => chosen(['vgg16'])).to.throw(/vgg16/)
  })
})
