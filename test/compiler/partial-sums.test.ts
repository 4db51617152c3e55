import { expect } from 'chai'
import { compile } from '../../src/compiler/compile.js'
import type { LoweringBackend, Program } from '../../src/compiler/program.js'
import { inOrder, present } from '../../src/compiler/step.js'
import { loadOperators } from '../../src/model/composed.js'
import { batchNorm2d, composed, conv2d, defineModel, globalAvgPool, maxPool2d, relu, residual } from '../../src/model/layers.js'
import type { Layer } from '../../src/model/layer.js'
import { FakeLowering } from '../fakes/lowering.js'

const BATCH = 2

function compiled(layers: Layer[], backend: LoweringBackend = new FakeLowering()): Program {
  const model = defineModel({ name: 'test', input: [3, 8, 8], layers: [...layers, globalAvgPool()] })
  return compile(model, backend, { batch: BATCH, mode: 'train', precision: 'f32' })
}

/** Who gives which sums, and who takes them: `conv2d conv1 > conv1.sums > batchNorm bn1`. */
function sumsOf({ segments, values }: Program): string[] {
  const operators = inOrder(segments)
  return operators.flatMap((giver) =>
    present(giver.outputs)
      .map((id) => values[id]!)
      .filter(({ name }) => name.endsWith('.sums'))
      .map(({ id, name }) => {
        const takers = operators.filter(({ inputs }) => inputs.includes(id))
        return `${giver.kind} ${giver.name} > ${name} > ${takers.map((taker) => `${taker.kind} ${taker.name}`).join(', ')}`
      })
  )
}

describe('partial sums', () => {
  it('go from a convolution to the batch norm that reads it, and back from the next convolution’s gradient', () => {
    const program = compiled([conv2d(8, 3, { padding: 1 }), batchNorm2d(), relu(), conv2d(8, 3)])
    expect(sumsOf(program)).to.deep.equal([
      'conv2d conv1 > conv1.sums > batchNorm bn1',
      'conv2dBackwardData conv2.backward > relu1.gradient.sums > batchNormBackward bn1.backward'
    ])
    // As many tiles as the backend says, two sums a channel.
    const { shape, type, layout } = program.values.find(({ name }) => name === 'conv1.sums')!
    expect({ shape, type, layout }).to.deep.equal({ shape: [2 * BATCH, 8, 2], type: 'f32', layout: 'plain' })
    const { inputs, attributes } = inOrder(program.segments).find(({ kind }) => kind === 'conv2dBackwardData')!
    expect(inputs.slice(2).map((id) => program.values[id]?.name ?? '-')).to.deep.equal(['conv1', 'bn1.mean', 'relu1', '-'])
    expect(attributes).to.include({ relu: 1 })
  })

  it('go to all batch norms that read a convolution, and to none where another layer comes between', () => {
    const both = residual({ name: 'both', body: [batchNorm2d({ name: 'one' })], shortcut: [batchNorm2d({ name: 'other' })] })
    expect(sumsOf(compiled([conv2d(8, 3), both]))).to.deep.equal([
      'conv2d conv1 > conv1.sums > batchNorm both.shortcut.other, batchNorm both.one'
    ])
    expect(sumsOf(compiled([conv2d(8, 3), maxPool2d(2), batchNorm2d()]))).to.deep.equal([])
  })

  it('have the gradient that is added, where a convolution’s gradient is the last to be written', () => {
    const block = residual({ name: 'block', body: [conv2d(8, 3, { padding: 1 }), batchNorm2d()] })
    const program = compiled([conv2d(8, 3, { padding: 1 }), batchNorm2d(), relu(), block])
    const backward = inOrder(program.segments).find(({ kind }) => kind === 'conv2dBackwardData')!
    expect(program.values[backward.inputs[5]!]!.name).to.match(/^relu1\.gradient/)
    // Of two convolutions, the one that runs last, which reads what the other one has written.
    const branches = residual({ name: 'two', body: [conv2d(8, 1)], shortcut: [conv2d(8, 1)] })
    const both = compiled([conv2d(8, 3, { padding: 1 }), batchNorm2d(), relu(), branches])
    const [first, last] = inOrder(both.segments).filter(({ kind }) => kind === 'conv2dBackwardData')
    expect(present(first!.outputs)).to.have.length(1)
    expect(last!.inputs[5]).to.equal(first!.outputs[0])
    expect(both.values[last!.outputs[1]!]!.name).to.match(/\.sums$/)
  })

  it('are none of a gradient that is added to itself', async () => {
    const text = `export default {
      shape: (shape) => shape,
      build: (builder, x) => builder.add('add', [x, x], builder.shape(x), { relu: 0 })
    }`
    const layers = [
      conv2d(8, 3, { padding: 1 }),
      batchNorm2d(),
      composed(new URL(`data:text/javascript,${encodeURIComponent(text)}`)),
      conv2d(8, 1)
    ]
    await loadOperators(defineModel({ name: 'test', input: [3, 8, 8], layers }))
    const program = compiled(layers)
    const norm = inOrder(program.segments).find(({ kind }) => kind === 'batchNormBackward')!
    expect(norm.inputs[5]).to.equal(norm.inputs[6])
    expect(norm.inputs).to.have.length(7)
  })

  it('are not asked of a backend without them', () => {
    const fake = new FakeLowering()
    const without: LoweringBackend = {
      name: fake.name,
      lower: (request) => ({ ...fake.lower(request), partialSums: 0 }),
      bytes: (...tensor) => fake.bytes(...tensor)
    }
    expect(sumsOf(compiled([conv2d(8, 3), batchNorm2d()], without))).to.deep.equal([])
  })
})
