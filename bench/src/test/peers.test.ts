import { expect } from 'chai'
import { chosenCases } from '../cases.js'
import { chosenPeers } from '../peers/fastest.js'
import { spreads, taskArguments } from '../peers/way.js'
import { tfjsWays } from '../peers/tfjs.js'
import { boundOf, type Roofs } from '../roofline/bound.js'
import { Side } from '../side.js'

describe('Peers of the throughput bench', () => {
  it('are chosen by name', () => {
    expect(chosenPeers()).to.deep.equal(['pytorch'])
    expect(chosenPeers('all')).to.deep.equal(['pytorch', 'jax', 'tfjs'])
    expect(chosenPeers('jax,pytorch')).to.deep.equal(['jax', 'pytorch'])
    expect(() => chosenPeers('keras'))
      .to.throw('keras')
      .with.property('code', 'UNKNOWN_NAME')
  })

  it('use the cores of the learners, as threads and as processes', () => {
    expect(spreads(1).map(({ name }) => name)).to.deep.equal(['1 thread'])
    expect(spreads(2).map(({ processes, threads }) => processes * threads)).to.deep.equal([1, 2, 2])
  })

  it('are given a task in words', () => {
    expect(taskArguments({ model: 'gpt', sample: [128] })).to.deep.equal(['--model', 'gpt', '--sample', '128'])
  })

  it('train the MLP by TensorFlow.js, and no convolutional network', async function () {
    const [mlp, lenet, narrow] = ['mlp', 'lenet', 'mlp bf16'].map(
      (name) => chosenCases([name, 'b8', 'k1', ...(name.includes('bf16') ? [] : ['f32'])])[0]!
    )
    expect(await tfjsWays(lenet!)).to.deep.equal([])
    expect(await tfjsWays(narrow!)).to.deep.equal([])
    const [way] = await tfjsWays(mlp!)
    const side = await Side.start(way!.commands)
    try {
      expect(await side.run(0.1)).to.be.above(0)
    } finally {
      side.close()
    }
  })
})

describe('The roofline', () => {
  const roofs: Roofs = { flopsPerSecond: 100, bytesPerSecond: 10, cacheBytesPerSecond: 50, cacheBytes: 1000 }
  const operator = { kind: 'relu', name: 'a', segment: 'forward', implementation: 'own', seconds: 100 } as const

  it('bounds an operator by the slower of its arithmetic and its bytes', () => {
    expect(boundOf({ ...operator, flops: 3000, bytes: 1000 }, roofs)).to.include({ bound: 30, by: 'arithmetic' })
    expect(boundOf({ ...operator, flops: 1000, bytes: 1000 }, roofs)).to.include({ bound: 20, by: 'cache' })
    expect(boundOf({ ...operator, flops: 1000, bytes: 1001 }, roofs)).to.include({ bound: 100.1, by: 'memory' })
  })
})
