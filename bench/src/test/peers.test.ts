import { expect } from 'chai'
import { chosenCases } from '../cases.js'
import { chosenPeers, waysOf } from '../peers/fastest.js'
import { trainingProgram } from '../flops-per-image.js'
import { innerTaps, necessaryFlops, necessaryFlopsByOperator } from '../necessary-flops.js'
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
    const refused = await waysOf(lenet!, ['tfjs']).catch((error: unknown) => error)
    expect(refused)
      .to.include({ code: 'INVALID_OPTION' })
      .and.to.have.property('message')
      .that.matches(/^--peers: received "tfjs"; none of them trains lenet b8 k1 f32/)
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
  it('leaves out what a convolution would compute on padding', () => {
    expect(innerTaps(2, 3, 2, 1, 1)).to.equal(4)
    expect(innerTaps(32, 3, 32, 1, 1)).to.equal(94)
    expect(innerTaps(28, 5, 24, 1, 0)).to.equal(120)
    expect(innerTaps(32, 3, 16, 2, 1)).to.equal(47)
    const program = trainingProgram('vgg16', 1, 'f32')
    const last = program.segments.forward.filter(({ kind }) => kind === 'conv2d').at(-1)!
    expect(necessaryFlops(program, last) / last.flops).to.be.closeTo(4 / 9, 1e-3)
    const kinds = ['conv2d', 'conv2dBackwardData', 'conv2dBackwardWeights']
    const all = [...necessaryFlopsByOperator(program)].filter(([key]) => kinds.includes(key.split(' ').at(-1)!))
    expect(all).to.have.length(13 + 12 + 13)
    const second = program.segments.forward.filter(({ kind }) => kind === 'conv2d')[1]!
    const tiles = 8 * 8
    expect(necessaryFlops(program, { ...second, implementation: 'own:avx512:winograd' })).to.equal(2 * 36 * tiles * 64 * 64)
    expect(necessaryFlops(program, { ...second, implementation: 'own:avx512:winograd-of-images' })).to.equal(2 * 36 * tiles * 64 * 64)
  })

  const roofs: Roofs = { flopsPerSecond: 100, bytesPerSecond: 10, cacheBytesPerSecond: 50, cacheBytes: 1000 }
  const operator = { kind: 'relu', name: 'a', segment: 'forward', implementation: 'own', seconds: 100 } as const

  it('bounds an operator by the slower of its arithmetic and its bytes', () => {
    expect(boundOf({ ...operator, flops: 3000, bytes: 1000 }, roofs)).to.include({ bound: 30, by: 'arithmetic' })
    expect(boundOf({ ...operator, flops: 1000, bytes: 1000 }, roofs)).to.include({ bound: 20, by: 'cache' })
    expect(boundOf({ ...operator, flops: 1000, bytes: 1001 }, roofs)).to.include({ bound: 100.1, by: 'memory' })
  })
})
