import { expect } from 'chai'
import { chosen, rateName } from '../hosts/cases.js'
import { reachable } from '../hosts/reachable.js'

describe('the cases of hosts', () => {
  it('are those that the words name', () => {
    const { kinds, hosts, mbit } = chosen(['exchange h4 200mbit', '1gbit'])
    expect([...kinds]).to.deep.equal(['exchange'])
    expect({ hosts, mbit }).to.deep.equal({ hosts: [4], mbit: [200, 1000] })
    expect(chosen(['tta', 'lenet', 'h4', '50mbit', 'sma'])).to.deep.include({ models: ['lenet'], rules: ['sma'], mbit: [50] })
    expect(chosen(['resnet20 b16 h2'])).to.deep.include({ models: ['resnet20'], batches: [16], hosts: [2] })
  })

  it('are of all kinds without words', () => {
    expect([...chosen([]).kinds]).to.deep.equal(['exchange', 'throughput', 'pace', 'tta'])
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

describe('what computing and the links allow', () => {
  // 4 MB to 2 hosts over 8 Mbit/s are 4 s; averages are 8 steps apart.
  const exchange = { mbit: 8, hosts: 2, period: 8, bytes: 4e6 }
  const measured = { computing: 0.25, step: 1, peerStep: 6 }

  it('is their sum where the learners wait for the average', () => {
    const found = reachable({ ...exchange, rule: 'local-sgd' }, measured)
    expect(found).to.deep.equal({ computing: 0.25, link: 0.5, step: 0.75, gain: 8, share: 0.75 })
  })

  it('is the longer one where the average overlaps the next steps', () => {
    const found = reachable({ ...exchange, rule: 'sma' }, measured)
    expect(found).to.include({ step: 0.5, gain: 12, share: 0.5 })
  })
})
