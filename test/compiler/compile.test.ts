import { expect } from 'chai'
import * as fc from 'fast-check'
import { checkProgram } from './support/check-program.js'
import { compile } from '../../src/compiler/compile.js'
import type { LoweringAnswer, LoweringRequest, OfferedTensor, Precision, Program } from '../../src/compiler/program.js'
import { inOrder } from '../../src/compiler/step.js'
import type { Mode } from '../../src/model/graph-builder.js'
import { avgPool2d, conv2d, defineModel, flatten, globalAvgPool, linear, relu, residual } from '../../src/model/layers.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { FakeLowering } from '../fakes/lowering.js'
import { thrown } from '../support/thrown.js'
import { randomModel } from './support/random-model.js'
import { simulate } from './support/simulate.js'

const modes: readonly Mode[] = ['train', 'statistics', 'evaluate', 'predict']
const anyProgram = fc.record({
  model: randomModel(),
  batch: fc.integer({ min: 2, max: 5 }),
  mode: fc.constantFrom(...modes),
  precision: fc.constantFrom<Precision>('f32', 'bf16', 'f64')
})
const hold = <T>(arbitrary: fc.Arbitrary<T>, promise: (value: T) => void): void =>
  fc.assert(fc.property(arbitrary, promise), { seed: 20, numRuns: 150 })
const kinds = (program: Program, segment: keyof Program['segments']): string => program.segments[segment].map(({ kind }) => kind).join(' ')

const persistentOf = ({ values }: Program): object[] =>
  values
    .filter(({ role }) => role === 'parameter' || role === 'statistic')
    .map(({ name, type, layout, placement: { arena, offset } }) => ({ name, type, layout, arena, offset }))

describe('compile: any model', () => {
  it('keeps every promise of a Program', () => {
    hold(anyProgram, ({ model, ...options }) => {
      for (const together of [false, true]) checkProgram(compile(model, new FakeLowering(together), options))
    })
  })

  it('overwrites nothing that is still read', () => {
    hold(anyProgram, ({ model, ...options }) => simulate(compile(model, new FakeLowering(), options)))
  })

  it('gives every operator the layouts and types that the backend wants', () => {
    hold(anyProgram, ({ model, ...options }) => {
      const program = compile(model, new FakeLowering(), options)
      const offered = (id: number): OfferedTensor | null => program.values[id] ?? null
      for (const { kind, name, attributes, inputs, outputs } of inOrder(program.segments)) {
        if (kind === 'exchange' || kind === 'update') continue
        const request = { kind, attributes, inputs: inputs.map(offered), outputs: outputs.map(offered), precision: options.precision }
        const wanted = new FakeLowering().lower(request)
        for (const [tensors, ids] of [
          [wanted.inputs, inputs],
          [wanted.outputs, outputs]
        ] as const)
          for (const [i, tensor] of tensors.entries()) {
            if (!tensor) continue
            const { type, layout, bytes } = program.values[ids[i]!]!
            expect({ type, layout, bytes }, `${kind} ${name}`).to.deep.equal(tensor)
          }
      }
    })
  })

  it('is the same every time', () => {
    hold(anyProgram, ({ model, ...options }) => {
      expect(compile(model, new FakeLowering(), options)).to.deep.equal(compile(model, new FakeLowering(), options))
    })
  })

  it('has a gradient for every parameter when it trains', () => {
    hold(anyProgram, ({ model, batch, precision }) => {
      const { values } = compile(model, new FakeLowering(), { batch, precision, mode: 'train' })
      const names = (role: string): string[] => values.filter((value) => value.role === role).map(({ name }) => name)
      expect(names('parameterGradient').sort()).to.deep.equal(
        names('parameter')
          .map((name) => `${name}.gradient`)
          .sort()
      )
    })
  })

  it('shares weights and statistics with the other programs of its job', () => {
    hold(anyProgram, ({ model, batch, precision }) => {
      const train = compile(model, new FakeLowering(), { batch, precision, mode: 'train' })
      for (const mode of modes) {
        const other = compile(model, new FakeLowering(), { batch: batch + 3, precision, mode, parameters: train.parameters })
        checkProgram(other)
        expect(persistentOf(other)).to.deep.equal(persistentOf(train))
        expect(other.parameters).to.deep.equal(train.parameters)
        expect(other.arenas.statistics).to.equal(train.arenas.statistics)
      }
    })
  })
})

describe('compile', () => {
  const lenet = modelNamed('lenet', { input: [1, 28, 28], classes: 10 })
  const train = compile(lenet, new FakeLowering(), {
    batch: 8,
    mode: 'train',
    precision: 'f32',
    load: { mean: [0.1], std: [0.3] },
    optimiser: { momentum: 0.9, weightDecay: 1e-4, nesterov: true }
  })

  it('deals operators out to segments', () => {
    expect(kinds(train, 'load')).to.equal('load')
    expect(kinds(train, 'forward')).to.equal('conv2d maxPool2d conv2d maxPool2d reorder reshape linear linear softmaxCrossEntropy')
    expect(kinds(train, 'exchange')).to.equal('exchange')
    expect(kinds(train, 'update')).to.equal('update')
    expect(train.segments.update[0]!.attributes).to.deep.equal({ momentum: 0.9, weightDecay: 1e-4, nesterov: 1 })
  })

  it('loads samples straight into the layout of their first reader', () => {
    expect(train.values[train.named.input!]).to.include({ layout: 'blocked', type: 'f32' })
  })

  it('keeps parameters and their gradients in one layout of the flat vector', () => {
    const { parameters, elements } = train.parameters
    expect(parameters.map(({ name }) => name)).to.deep.equal(
      ['conv1', 'conv2', 'fc1', 'fc2'].flatMap((layer) => [`${layer}.weight`, `${layer}.bias`])
    )
    expect(elements).to.equal(431_080)
    expect(parameters[2]).to.include({ layout: 'weights-forward', canonical: 520 })
    expect(train.arenas.gradients).to.equal(train.arenas.weights)
  })

  it('takes no gradients and no memory for them where it does not train', () => {
    for (const mode of ['statistics', 'evaluate', 'predict'] as const) {
      const program = compile(lenet, new FakeLowering(), { batch: 8, mode, precision: 'f32' })
      expect(program.arenas.gradients).to.equal(0)
      expect(kinds(program, 'backward') + kinds(program, 'exchange') + kinds(program, 'update')).to.equal('')
    }
  })

  it('counts floating-point operations as the literature does', () => {
    const resnet = compile(modelNamed('resnet20', { input: [3, 32, 32], classes: 10 }), new FakeLowering(), {
      batch: 4,
      mode: 'train',
      precision: 'f32'
    })
    const products = inOrder(resnet.segments).filter(({ kind }) => /^(conv2d|linear)/.test(kind))
    // 40.55 million multiplications and additions forward, three times that for a step but for the first layer's data gradient.
    expect(products.reduce((sum, { flops }) => sum + flops, 0) / 4 / 1e6).to.be.closeTo(2 * (3 * 40.55 - 0.44), 0.5)
  })

  it('keeps parameters and statistics wide in bf16, and feeds operators bf16 copies', () => {
    const program = compile(modelNamed('resnet20', { input: [3, 32, 32], classes: 10 }), new FakeLowering(), {
      batch: 4,
      mode: 'train',
      precision: 'bf16'
    })
    for (const { role, type, name } of program.values)
      if (role === 'parameter' || role === 'parameterGradient' || role === 'statistic' || name === 'loss')
        expect(type, name).to.equal('f32')
    expect(new Set(program.parameters.parameters.map(({ layout }) => layout))).to.deep.equal(new Set(['plain']))
    expect(program.values.filter(({ name }) => name === 'conv1.weight.bf16.weights-forward')).to.have.length(1)
  })

  it('has masters of which there are bf16 copies lie as their gradients are written, unless that pads them', () => {
    class WideGradients extends FakeLowering {
      override lower(request: LoweringRequest): LoweringAnswer {
        const answer = super.lower(request)
        if (request.kind !== 'conv2dBackwardWeights') return answer
        const { shape } = request.outputs[0]!
        const gw = { type: 'f32', layout: 'weights-gradient', bytes: this.bytes(shape, 'f32', 'weights-gradient') } as const
        return { ...answer, outputs: [gw, ...answer.outputs.slice(1)] }
      }
    }
    const model = modelNamed('resnet20', { input: [3, 32, 32], classes: 10 })
    const program = compile(model, new WideGradients(), { batch: 4, mode: 'train', precision: 'bf16' })
    checkProgram(program)
    const { parameters } = program.parameters
    for (const { name, shape, layout } of parameters)
      expect(layout, name).to.equal(shape.length === 4 && shape[1] !== 3 ? 'weights-gradient' : 'plain')
    const reordered = program.segments.backward.flatMap(({ kind, outputs }) => (kind === 'reorder' ? outputs : []))
    expect(reordered.filter((id) => program.values[id]!.role === 'parameterGradient')).to.have.length(1)
    const evaluation = compile(model, new WideGradients(), {
      batch: 4,
      mode: 'evaluate',
      precision: 'bf16',
      parameters: program.parameters
    })
    expect(evaluation.parameters).to.deep.equal(program.parameters)
  })

  it('has masters lie as their bf16 copies do where layouts are the same for every type', () => {
    const options = { batch: 4, mode: 'train' } as const
    const model = modelNamed('resnet20', { input: [3, 32, 32], classes: 10 })
    const layouts = (precision: 'f32' | 'bf16') =>
      compile(model, new FakeLowering(true, true), { ...options, precision }).parameters.parameters.map(({ layout }) => layout)
    expect(new Set(layouts('bf16')).size).to.be.above(1)
    expect(layouts('bf16')).to.deep.equal(layouts('f32'))
  })

  it('reorders all parameters by one operator at the beginning where the backend can', () => {
    const options = { batch: 4, mode: 'train', precision: 'bf16' } as const
    const model = modelNamed('resnet20', { input: [3, 32, 32], classes: 10 })
    const [apart, together] = [false, true].map((each) => compile(model, new FakeLowering(each), options)) as [Program, Program]
    const copies = ({ values, segments }: Program): string[] =>
      inOrder(segments)
        .filter(({ kind, inputs }) => kind === 'reorder' && values[inputs[0]!]!.role === 'parameter')
        .flatMap(({ outputs }) => outputs.map((id) => values[id]!.name))
        .toSorted()
    expect(copies(together)).to.deep.equal(copies(apart))
    expect(together.segments.forward[0]!.outputs).to.have.length(copies(apart).length)
  })

  it('reorders all gradients by one operator at the end of the backward pass where the backend can', () => {
    const options = { batch: 4, mode: 'train', precision: 'bf16' } as const
    const model = modelNamed('resnet20', { input: [3, 32, 32], classes: 10 })
    const [apart, together] = [false, true].map((each) => compile(model, new FakeLowering(each), options)) as [Program, Program]
    const written = ({ values, segments }: Program): string[][] =>
      segments.backward
        .filter(({ kind, outputs }) => kind === 'reorder' && values[outputs[0]!]!.role === 'parameterGradient')
        .map(({ outputs }) => outputs.map((id) => values[id]!.name))
    expect(written(apart).length).to.be.above(10)
    expect(written(together)).to.deep.equal([written(apart).flat()])
    expect(together.segments.backward.at(-1)!.outputs).to.have.length(written(apart).length)
  })

  it('writes the gradient of an image that was flattened as the image lies: before a mean over windows it is small', () => {
    const layers = [conv2d(8, 3), avgPool2d(2), flatten(), linear(10)]
    const model = defineModel({ name: 'mean', input: [3, 16, 16], layers })
    const { segments, values } = compile(model, new FakeLowering(), { batch: 4, mode: 'train', precision: 'f32' })
    const layout = (id: number) => values[id]!.layout
    const backward = segments.backward.filter(({ kind }) => kind === 'reorder' || kind === 'avgPool2dBackward')
    const [reorder, mean, ...others] = backward.filter(
      ({ outputs }) => values[outputs[0]!]!.shape.length === 4 && values[outputs[0]!]!.role === 'activation'
    )
    expect(reorder).to.include({ kind: 'reorder' })
    expect(values[reorder!.outputs[0]!]!.shape).to.deep.equal([4, 8, 7, 7])
    expect(mean).to.include({ kind: 'avgPool2dBackward' })
    expect([...mean!.inputs, ...mean!.outputs].map(layout)).to.deep.equal(['blocked', 'blocked'])
    expect(others).to.deep.equal([])
  })

  it('makes a reorder once for all readers that want the same', () => {
    // What relu writes lies plain; both convolutions and both of their weight gradients want it blocked.
    const layers = [relu(), residual({ body: [conv2d(4, 1)], shortcut: [conv2d(4, 1)] }), globalAvgPool()]
    const model = defineModel({ name: 'twice', input: [4, 6, 6], layers })
    const program = compile(model, new FakeLowering(), { batch: 2, mode: 'train', precision: 'f32' })
    const made = inOrder(program.segments).filter(({ kind, inputs }) => kind === 'reorder' && program.values[inputs[0]!]!.name === 'relu1')
    const readers = inOrder(program.segments).filter(({ inputs }) => inputs.includes(made[0]!.outputs[0]!))
    expect(made).to.have.length(1)
    expect(readers.map(({ kind }) => kind).sort()).to.deep.equal(['conv2d', 'conv2d', 'conv2dBackwardWeights', 'conv2dBackwardWeights'])
  })

  it('overwrites nothing that has a name, not even at the end', () => {
    const model = defineModel({ name: 'last', input: [4], layers: [relu()] })
    const { values, named } = compile(model, new FakeLowering(), { batch: 2, mode: 'predict', precision: 'f32' })
    expect(values[named.input!]!.placement.offset).not.to.equal(values[named.output!]!.placement.offset)
  })

  it('refuses the parameters of another model', () => {
    const mlp = modelNamed('mlp', { input: [1, 28, 28], classes: 10 })
    const error = thrown(() =>
      compile(mlp, new FakeLowering(), { batch: 1, mode: 'predict', precision: 'f32', parameters: train.parameters })
    )
    expect(error.code).to.equal('INVALID_PROGRAM')
    expect(error.message).to.include('a layout of 8 that are not the 6 of mlp')
  })

  it('refuses an optimiser that cannot be', () => {
    for (const [optimiser, message] of [
      [{ momentum: 1 }, 'optimiser.momentum: received 1'],
      [{ weightDecay: -1 }, 'optimiser.weightDecay: received -1'],
      [{ nesterov: true }, 'optimiser.nesterov: received true']
    ] as const) {
      const error = thrown(() => compile(lenet, new FakeLowering(), { batch: 1, mode: 'train', precision: 'f32', optimiser }))
      expect(error.code).to.equal('INVALID_OPTION')
      expect(error.message).to.include(message)
    }
  })
})
