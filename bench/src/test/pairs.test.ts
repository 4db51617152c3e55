import { expect } from 'chai'
import { compare, type Contestant } from '../pairs.js'
import { quantile } from '../statistics.js'

/** Tells the given rates, one a window, and writes down when it ran. */
function scripted(name: string, rates: readonly number[], ran: string[]): Contestant {
  const left = [...rates]
  return {
    run: async () => {
      ran.push(name)
      return left.shift()!
    }
  }
}

describe('compare', () => {
  it('runs the sides in turns and compares neighbours, so that drift of the machine cancels', async () => {
    const ran: string[] = []
    const ours = scripted('A', [200, 100, 50, 400, 20], ran)
    const peer = scripted('B', [100, 50, 25, 200, 20], ran)
    const found = await compare(ours, peer, { pairs: 5, seconds: 1, between: async () => void ran.push('-') })
    expect(ran.join('')).to.equal('AB-AB-AB-AB-AB-')
    expect(found).to.deep.equal({ value: 100, peerValue: 50, ratio: 2, n: 5, min: 1, max: 2, quartiles: [2, 2] })
  })
})

describe('quantile', () => {
  it('interpolates between neighbours, in any order of the values', () => {
    expect(quantile([3, 1, 2], 0.5)).to.equal(2)
    expect(quantile([4, 1, 2, 3], 0.5)).to.equal(2.5)
    expect(quantile([0, 10], 0.25)).to.equal(2.5)
    expect(quantile([], 0.5)).to.be.NaN
  })

  it('is infinite where the values are, and nothing where one of them is no number', () => {
    expect(quantile([Infinity, 3, Infinity], 0.5)).to.equal(Infinity)
    expect(quantile([1, Infinity, 2], 0.25)).to.equal(1.5)
    expect(quantile([3, NaN, 1, 2, 0.5], 0.5)).to.be.NaN
  })
})
