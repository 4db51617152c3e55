import { expect } from 'chai'
import { conv2d, defineModel, explain, flatten, linear, relu, zoo } from '../../../src/index.js'
import { RunMemory } from '../../../src/run/memory/need.js'
import { sma } from '../../../src/rules/sma.js'
import { compile } from '../../../src/compiler/compile.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { engine } from '../../../src/engine/native.js'
import { familyOf, modelNamed } from '../../../src/model/zoo/index.js'
import { refused } from '../../support/codes.js'

const assumed = { flopsPerSecond: 1e11, bytesPerSecond: 1e10 }

describe('explain', function () {
  this.timeout(60_000)

  it('adds up operators, floors and memory', async () => {
    const explained = await explain({ model: 'resnet20', batch: 8, learners: 3, ...assumed })
    const { operators, memory } = explained
    const sum = (figure: 'flops' | 'bytes' | 'floorSeconds') => operators.reduce((total, operator) => total + operator[figure], 0)
    expect([explained.flops, explained.bytes, explained.floorSeconds]).to.deep.equal([sum('flops'), sum('bytes'), sum('floorSeconds')])
    for (const { flops, bytes, floorSeconds, boundBy, name } of operators) {
      expect(floorSeconds, name).to.equal(Math.max(flops / 1e11, bytes / 1e10))
      expect(boundBy, name).to.equal(flops / 1e11 > bytes / 1e10 ? 'arithmetic' : 'memory')
    }
    expect(explained.flops / 8 / 1e6).to.be.within(240, 250)
    const learner = Object.values(memory.learner).reduce((total, bytes) => total + bytes, 0)
    const shared = Object.values(memory.shared).reduce((total, bytes) => total + bytes, 0)
    expect(memory.total).to.equal(3 * learner + shared)
  })

  it('takes as much for a learner as a run does', async () => {
    const { memory } = await explain({ model: 'lenet', batch: 16, ...assumed })
    const options = { batch: 16, precision: 'f32', optimiser: { momentum: 0.9 } } as const
    const train = compile(modelNamed('lenet', familyOf('lenet')!.usual), loweringBackend(engine, 'cpu'), { ...options, mode: 'train' })
    const rule = sma({}, { learners: 1 })
    const group = { backend: 'cpu', layout: train.parameters, batch: 16, rule } as const
    const objects = { backend: 'cpu', train, group, evaluation: { programs: [train], replicas: 1 }, samples: 0 } as const
    const { need } = new RunMemory(engine, objects)
    expect(Object.values(memory.learner).reduce((total, bytes) => total + bytes, 0)).to.equal(need.perLearner)
    // Beside it, where checkpoints are taken, a copy of its weights and its momentum, and of the two central models and the one that is measured.
    const { need: copied } = new RunMemory(engine, { ...objects, checkpoints: true })
    const { bytes } = train.parameters
    expect([copied.perLearner - need.perLearner, copied.shared - need.shared]).to.deep.equal([2 * bytes, 3 * bytes])
  })

  it('knows what every model of the zoo is usually trained on', () => {
    for (const name of Object.keys(zoo)) {
      const shape = familyOf(name)?.usual
      expect(shape, name).to.not.equal(undefined)
      expect(() => modelNamed(name, shape!)).to.not.throw()
    }
    expect(familyOf('toString')).to.equal(undefined)
  })

  it('takes other inputs and classes, and a model of the user', async () => {
    const { input, parameters } = await explain({ model: 'resnet18', input: [1, 64, 64], classes: 7, batch: 2, ...assumed })
    expect(input).to.deep.equal([1, 64, 64])
    expect(parameters).to.equal(11_689_512 - 2 * 64 * 49 - 993 * 513)
    const model = defineModel({ name: 'mine', input: [2, 8, 8], layers: [conv2d(4, 3), relu(), flatten(), linear(3)] })
    expect((await explain({ model, batch: 2, ...assumed })).model).to.equal('mine')
  })

  it('measures how fast the machine is where it is not told', async () => {
    const { speeds } = await explain({ model: 'mlp', batch: 2 })
    expect(speeds.measured).to.deep.equal({ arithmetic: true, memory: true })
    expect(speeds.flopsPerSecond).to.be.within(1e9, 1e13)
    expect(speeds.bytesPerSecond).to.be.within(1e8, 1e12)
    expect(speeds.cacheBytesPerSecond).to.be.at.least(speeds.bytesPerSecond)
    expect(speeds.cacheBytes).to.be.at.least(2 ** 15)
  })

  it('takes none of the memory that it tells of, and so knows no other limit than the one that it is given', async () => {
    // Some 300 GiB of activations.
    const { memory, memoryBytes, ...within } = await explain({ model: 'resnet152', batch: 2048, deviceMemory: '2TiB', ...assumed })
    expect(memory.learner.activations).to.be.above(2 ** 38)
    expect(memoryBytes).to.be.below(2 ** 41)
    expect(within).to.include({ recomputedBytes: 0, movedBytes: 0, predictedSlowdown: 1 })
  })

  it('refuses what it cannot explain', async () => {
    await refused('UNKNOWN_NAME', () => explain({ model: 'resnet51' }), 'resnet50')
    await refused('SHAPE_MISMATCH', () => explain({ model: 'vgg16', input: [3, 16, 16] }), '32 to 255')
    await refused('INVALID_OPTION', () => explain({ model: 'mlp', batch: 0 }), 'batch')
    await refused('INVALID_OPTION', () => explain({ model: 'mlp', learners: -1 }), 'learners')
    await refused('INVALID_OPTION', () => explain({ model: 'mlp', input: [0] }), 'input')
    await refused('INVALID_OPTION', () => explain({ model: 3 as never }), 'model')
    await refused('INVALID_OPTION', () => explain({ model: 'mlp', bytesPerSecond: 0 }), 'bytesPerSecond')
    await refused('INVALID_OPTION', () => explain({ model: 'mlp', size: 3 } as never), 'size')
  })
})
