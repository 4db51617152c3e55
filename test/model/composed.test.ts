import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { checkProgram } from '../compiler/support/check-program.js'
import { compile } from '../../src/compiler/compile.js'
import type { Program } from '../../src/compiler/program.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { loadOperators, type ComposedOperator } from '../../src/model/composed.js'
import { buildGraph, parameterCount } from '../../src/model/graph-builder.js'
import {
  batchNorm2d,
  causalSelfAttention,
  composed,
  conv2d,
  defineModel,
  flatten,
  layerNorm,
  linear,
  maxPool2d,
  relu,
  residual
} from '../../src/model/layers.js'
import type { Layer } from '../../src/model/layer.js'
import type { Model } from '../../src/model/model.js'
import type { OperatorBuilder } from '../../src/model/operator-builder.js'
import { elements, parametersOf } from '../../src/model/graph.js'
import { initialParameters } from '../../src/model/initialise.js'
import { train } from '../../src/run/train.js'
import { datasetFromArrays } from '../../src/data/from-arrays.js'
import { openDataset } from '../../src/data/open.js'
import lowRankUpdate from '../fakes/operators/low-rank-update.js'
import { layerOf } from '../fakes/operators/stand-in.js'
import { refused } from '../support/codes.js'

const at = (file: string) => new URL(`../fakes/operators/${file}.js`, import.meta.url)
const lowRank = (name: string) => composed(at('low-rank'), { name, options: { rank: 3, features: 8 } })
const model = (layers: readonly Layer[]): Model => defineModel({ name: 'own', input: [8], layers })
const lowering = () => loweringBackend(engine, 'reference')

/** The gradients and the output of one step over two samples. */
function ran(program: Program, input: readonly number[], backend: 'reference' | 'cpu' = 'reference') {
  const replica = engine.createReplica({ backend, layout: program.parameters, threads: 1, seed: 1 })
  const count = 2 * input.reduce((product, extent) => product * extent)
  const samples = Float32Array.from({ length: count }, (_, i) => Math.cos(i))
  const dataset = engine.createDataset({ count: 2, sample: input, samples, labels: Int32Array.of(0, 1), classes: 2 })
  const slot = engine.bind(replica, engine.createProgram(program), dataset)
  engine.writeVector(
    replica,
    'weights',
    Float32Array.from({ length: program.parameters.elements }, (_, i) => Math.sin(7 * i))
  )
  for (const segment of ['load', 'forward', 'backward'] as const) engine.runSegment(replica, slot, segment)
  return { all: engine.readVector(replica, 'gradients'), output: [...engine.readValue(replica, slot, 'output')] }
}

describe('an operator of the user', () => {
  before(() => loadOperators(model([layerOf({})])))

  it('becomes existing operators with parameters of its own, also inside of a block', async () => {
    const own = model([lowRank('first'), relu(), residual({ body: [lowRank('waist')] }), linear(2)])
    await loadOperators(own)
    const { values } = buildGraph(own, { batch: 2, mode: 'train' })
    const parameters = values.filter(({ role }) => role === 'parameter').map(({ name }) => name)
    expect(parameters).to.deep.equal(['first.a', 'first.b', 'block1.waist.a', 'block1.waist.b', 'linear1.weight', 'linear1.bias'])
    expect(parameterCount(own)).to.equal(2 * (24 + 24) + 18)
    checkProgram(compile(own, lowering(), { batch: 2, mode: 'train', precision: 'f32' }))
  })

  it('leaves its model and its graph plain data, which may be posted to a thread', async () => {
    const own = model([linear(8), composed(at('straight-through')), residual({ body: [lowRank('waist')] }), linear(2)])
    await loadOperators(own)
    expect(structuredClone(own)).to.deep.equal(own)
    const graph = buildGraph(own, { batch: 2, mode: 'train' })
    expect(graph.composed).to.have.length(1)
    expect(structuredClone(graph)).to.deep.equal(graph)
  })

  it('may bring a gradient of its own', async () => {
    const straight = model([linear(8), composed(at('straight-through')), linear(2)])
    await loadOperators(straight)
    const usual = compile(model([linear(8), relu(), linear(2)]), lowering(), { batch: 2, mode: 'train', precision: 'f32' })
    const own = compile(straight, lowering(), { batch: 2, mode: 'train', precision: 'f32' })
    checkProgram(own)
    const gradients = [usual, own].map((program) => ran(program, [8]))
    const [first, second] = gradients as [(typeof gradients)[0], (typeof gradients)[0]]
    expect(second.output).to.deep.equal(first.output)
    // The bias of a unit that was off learns nothing under ReLU, and something under this gradient.
    const bias = ({ all }: typeof first) => [...all.subarray(64, 72)]
    const off = bias(first).flatMap((value, unit) => (value === 0 ? [unit] : []))
    expect(off.length).to.be.greaterThan(0)
    for (const unit of off) expect(bias(second)[unit]).to.not.equal(0)
    expect([...second.all.subarray(72)]).to.deep.equal([...first.all.subarray(72)])
  })

  it('may give its own gradient in another shape, as of an image that it flattens', () => {
    const gradientsWith = (shaped: (shape: readonly number[]) => readonly number[]) => {
      const own = layerOf({
        shape: (input) => input,
        build: (builder, x) => builder.add('relu', [x], builder.shape(x)),
        gradient: (builder, { gradient }) => builder.add('reshape', [gradient], shaped(builder.shape(gradient)))
      })
      const layers = [conv2d(3, 1), batchNorm2d(), residual({ body: [own] }), flatten(), linear(2)]
      const image = defineModel({ name: 'own', input: [2, 4, 4], layers })
      const program = compile(image, lowering(), { batch: 2, mode: 'train', precision: 'f32' })
      checkProgram(program)
      return ran(program, [2, 4, 4]).all
    }
    const expected = gradientsWith((shape) => shape)
    expect(expected.some((value) => value !== 0)).to.equal(true)
    expect(gradientsWith(([batch, ...image]) => [batch!, elements(image)])).to.deep.equal(expected)
  })

  it('may add to a batch norm without saying that its sum ends in no ReLU', () => {
    const gradientsOf = (...attributes: [] | [{ readonly relu: number }]) => {
      const own = layerOf({
        shape: (input) => input,
        build: (builder, x) =>
          builder.add('add', [x, builder.add('tanh', [moved(builder, x)], builder.shape(x))], builder.shape(x), ...attributes)
      })
      const layers = [conv2d(3, 1), batchNorm2d(), own, flatten(), linear(2)]
      const program = compile(defineModel({ name: 'own', input: [2, 4, 4], layers }), lowering(), {
        batch: 2,
        mode: 'train',
        precision: 'f32'
      })
      checkProgram(program)
      return ran(program, [2, 4, 4]).all
    }
    const moved = (builder: OperatorBuilder, x: number) => builder.parameter('moved', builder.shape(x), { kind: 'constant', value: 1 })
    expect(gradientsOf()).to.deep.equal(gradientsOf({ relu: 0 }))
  })

  it('has the gradients of what it is composed of, also of operators that keep something for theirs', () => {
    const gradients = (input: readonly number[], layer: Layer) => {
      const own = defineModel({ name: 'own', input, layers: [linear(6), layer, flatten(), linear(2)] })
      const program = compile(own, lowering(), { batch: 2, mode: 'train', precision: 'f32' })
      checkProgram(program)
      return ran(program, input).all
    }
    const same = (input: readonly number[]) => input
    const norm = (builder: OperatorBuilder, x: number) => {
      const parameter = (name: string, value: number) => builder.parameter(name, [6], { kind: 'constant', value })
      return builder.add('layerNorm', [x, parameter('weight', 1), parameter('bias', 0)], builder.shape(x), { epsilon: 1e-5 })
    }
    const attention = (builder: OperatorBuilder, x: number) => builder.add('causalSelfAttention', [x], [2, 4, 2], { heads: 2 })
    const asLayers: [readonly number[], Layer, ComposedOperator][] = [
      [[5], layerNorm(), { shape: same, build: norm }],
      [[4, 5], causalSelfAttention(2), { shape: ([length]) => [length!, 2], build: attention }]
    ]
    for (const [input, layer, own] of asLayers) {
      const expected = gradients(input, layer)
      expect(expected.some((value) => value !== 0)).to.equal(true)
      expect(gradients(input, layerOf(own))).to.deep.equal(expected)
    }
  })

  it('trains parameters that a sum reads', () => {
    const rank = 2
    const weights = (builder: OperatorBuilder, x: number) => lowRankUpdate.build(builder, x, { rank, features: 4 })
    const moved = (builder: OperatorBuilder, x: number) => {
      const parameter = (name: string, shape: readonly number[]) => builder.parameter(name, shape, { kind: 'constant', value: 0 })
      const table = builder.add('positions', [parameter('first', [3, 4]), parameter('second', [4])], [3, 4])
      const flat = builder.add('reshape', [builder.add('add', [table, parameter('third', [3, 4])], [3, 4], { relu: 0 })], [4, 3])
      return builder.add('linear', [x, builder.add('reshape', [flat], [4, 3]), -1], [2, 4], { relu: 0 })
    }
    const gradients = (build: ComposedOperator['build'], input: number) => {
      const own = defineModel({ name: 'own', input: [input], layers: [layerOf({ shape: () => [4], build }), linear(2)] })
      const program = compile(own, lowering(), { batch: 2, mode: 'train', precision: 'f32' })
      checkProgram(program)
      const { all } = ran(program, [input])
      const parts = program.parameters.parameters.map(
        ({ name, shape, canonical }) => [name, [...all.subarray(canonical, canonical + elements(shape))]] as const
      )
      return Object.fromEntries(parts)
    }
    const { 'own.first': first, 'own.second': second, 'own.third': third } = gradients(moved, 3)
    expect(first!.some((value) => value !== 0)).to.equal(true)
    expect(third).to.deep.equal(first)
    for (const [i, value] of second!.entries()) expect(value).to.be.closeTo(first![i]! + first![4 + i]! + first![8 + i]!, 1e-5)
    const { 'own.w': w, 'own.a': a, 'own.b': b } = gradients(weights, 3)
    expect(w!.some((value) => value !== 0)).to.equal(true)
    // The weights of `ran`: w has 12 elements, a and b follow.
    const [weightA, weightB] = [(i: number) => Math.sin(7 * (12 + i)), (i: number) => Math.sin(7 * (18 + i))]
    const sum = (count: number, term: (i: number) => number) => Array.from({ length: count }, (_, i) => term(i)).reduce((x, y) => x + y)
    for (let r = 0; r < rank; r++) {
      for (let column = 0; column < 3; column++)
        expect(a![r * 3 + column]).to.be.closeTo(
          sum(4, (row) => weightB(row * rank + r) * w![row * 3 + column]!),
          1e-5
        )
      for (let row = 0; row < 4; row++)
        expect(b![row * rank + r]).to.be.closeTo(
          sum(3, (column) => w![row * 3 + column]! * weightA(r * 3 + column)),
          1e-5
        )
    }
  })

  it('may add to parameters and reshape them in every precision', async () => {
    const reshaped = (builder: OperatorBuilder, x: number) => {
      const parameter = (name: string, shape: readonly number[]) => builder.parameter(name, shape, { kind: 'constant', value: 0 })
      const transposed = builder.add('reshape', [parameter('first', [4, 8])], [8, 4])
      const weight = builder.add('add', [transposed, parameter('second', [8, 4])], [8, 4], { relu: 0 })
      return builder.add('linear', [x, weight, -1], [2, 8], { relu: 0 })
    }
    const lowRankBuild = (builder: OperatorBuilder, x: number) => lowRankUpdate.build(builder, x, { rank: 2, features: 8 })
    for (const build of [reshaped, lowRankBuild])
      for (const backend of ['reference', 'cpu'] as const) {
        const own = defineModel({ name: 'own', input: [4], layers: [layerOf({ shape: () => [8], build }), linear(2)] })
        const ofPrecision = (precision: 'f32' | 'bf16') => {
          const program = compile(own, loweringBackend(engine, backend), { batch: 2, mode: 'train', precision })
          checkProgram(program)
          return [...ran(program, [4], backend).all]
        }
        const exact = ofPrecision('f32')
        const { precisions } = engine.describe().backends.find(({ name }) => name === backend)!
        if (!precisions.includes('bf16')) continue
        const longest = Math.max(...exact.map(Math.abs))
        for (const [i, value] of ofPrecision('bf16').entries()) expect(value, `${backend}, ${i}`).to.be.closeTo(exact[i]!, longest / 20)
      }
  })

  it('moves every parameter of a weight with an update of low rank in the first step', async () => {
    const own = model([composed(at('low-rank-update'), { name: 'own', options: { rank: 2, features: 8 } }), linear(2)])
    const samples = Float32Array.from({ length: 32 }, (_, i) => Math.cos(i))
    const labels = Int32Array.of(0, 1, 1, 0)
    const data = datasetFromArrays({ sample: [8], samples, labels, classes: 2, test: { samples, labels } })
    const optimiser = { learningRate: 0.5, schedule: 'constant', momentum: 0, weightDecay: 0 } as const
    await using job = train({ model: own, data, batch: 4, learners: 1, synchroniser: 'ssgd', optimiser, until: { steps: 1 }, seed: 1 })
    await job.finished
    const trained = await job.model.weights()
    let offset = 0
    const graph = buildGraph(own, { batch: 1, mode: 'train' })
    const initial = initialParameters(graph, 1)
    for (const { name, shape } of parametersOf(graph)) {
      const before = initial.subarray(offset, (offset += elements(shape)))
      expect(
        [...trained[name]!.data].some((value, i) => value !== before[i]),
        name
      ).to.equal(true)
    }
  })

  it('may pool, and then has the backward operators that the layer has', async () => {
    const data = await openDataset('digits', { samples: 200 })
    const pooled = (builder: OperatorBuilder, x: number) => {
      const [batch, channels, height, width] = builder.shape(x) as [number, number, number, number]
      const attributes = { kernel: [2, 2], stride: [2, 2], padding: [0, 0] }
      return builder.add('maxPool2d', [x], [batch, channels, height / 2, width / 2], attributes)
    }
    const shape = ([channels, height, width]: readonly number[]) => [channels!, height! / 2, width! / 2]
    const [layer, own] = [maxPool2d(2), layerOf({ shape, build: pooled })].map((pool) => {
      const { segments, values } = compile(
        defineModel({ name: 'own', input: data.sample, layers: [conv2d(4, 1), pool, flatten(), linear(10)] }),
        lowering(),
        { batch: 2, mode: 'train', precision: 'f32' }
      )
      return segments.backward.map(({ kind, inputs }) => [kind, ...inputs.map((id) => values[id]?.shape)])
    })
    expect(own).to.deep.equal(layer)
    expect(JSON.stringify(own)).to.include('maxPool2dBackward')
  })

  it('is refused, with its layer, where it uses what is no operator, no value or no shape', async () => {
    const shape = (input: readonly number[]) => input
    const building = (build: (builder: OperatorBuilder, x: number) => unknown): Partial<ComposedOperator> => ({
      shape,
      build: build as ComposedOperator['build']
    })
    const relued = building((builder, x) => builder.add('relu', [x], [2, 8]))
    for (const [operator, told] of [
      [
        building((builder, x) => builder.add('batchNorm' as 'relu', [x], [2, 8])),
        'operator: received "batchNorm"; a composed one is made of add, avgPool2d, causalSelfAttention, channelAffine, clamp, classToken, concat, conv2d'
      ],
      [building((builder, x) => builder.add('dropout' as 'relu', [x], [2, 8])), 'operator: received "dropout"'],
      [building((builder) => builder.add('relu', [99], [2, 8])), 'input 0 of relu: received 99'],
      [building((builder) => builder.add('relu', [-1], [2, 8])), 'input 0 of relu: received -1'],
      [building((builder, x) => builder.add('relu', x as never, [2, 8])), 'relu: received'],
      [building((builder, x) => builder.add('relu', [x], undefined as never)), 'shape of relu: received undefined'],
      [building((builder) => builder.parameter('a', [0], { kind: 'constant', value: 0 })), 'shape of a: received [0]'],
      [building(() => undefined), 'build: received undefined'],
      [{ ...relued, shape: () => undefined as never }, 'shape of its result: received undefined'],
      [{ ...relued, gradient: () => undefined as never }, 'gradient: received undefined']
    ] as const) {
      const own = model([linear(8), layerOf(operator), linear(2)])
      await refused('INVALID_MODEL', () => compile(own, lowering(), { batch: 2, mode: 'train', precision: 'f32' }), 'layer own', told)
    }
  })

  it('may be a TypeScript module; one that cannot be loaded is told by its address', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'operator-'))
    try {
      const file = (name: string) => pathToFileURL(join(folder, name))
      const builder =
        'builder: { add(kind: string, inputs: number[], shape: readonly number[]): number; shape(x: number): readonly number[] }'
      await writeFile(
        file('own.ts'),
        `export default { shape: (x: number[]) => x, build: (${builder}, x: number) => builder.add('relu', [x], builder.shape(x)) }`
      )
      await Promise.all(['broken.js', 'broken.ts'].map((name) => writeFile(file(name), 'export default {')))
      const written = model([composed(file('own.ts')), linear(2)])
      await loadOperators(written)
      expect(buildGraph(written, { batch: 2, mode: 'predict' }).operators.map(({ kind }) => kind)).to.deep.equal(['relu', 'linear'])
      for (const name of ['missing.js', 'missing.ts', 'broken.js', 'broken.ts'])
        await refused('INVALID_MODEL', () => loadOperators(model([composed(file(name))])), name, 'cannot be loaded')
      await refused('INVALID_MODEL', () => loadOperators(model([{ kind: 'composed', module: './own.js' }])), 'cannot be loaded')
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('is refused, with its layer, where it is not loaded or does not keep its word', async () => {
    await refused(
      'INVALID_MODEL',
      () => buildGraph(model([composed(at('unloaded'), { name: 'odd' })]), { batch: 1, mode: 'train' }),
      'layer odd',
      'loadOperators'
    )
    const liar = model([composed(at('liar'), { name: 'liar' })])
    await loadOperators(liar)
    await refused('INVALID_MODEL', () => buildGraph(liar, { batch: 1, mode: 'train' }), 'layer liar', '(8)')
    await refused('INVALID_MODEL', () => loadOperators(model([composed(new URL('../support/codes.js', import.meta.url))])), 'refused')
  })

  it('trains in a job', async () => {
    const data = await openDataset('digits', { samples: 500 })
    const flat = { ...data, sample: [784], train: { ...data.train, sample: [784] }, test: { ...data.test, sample: [784] } }
    const layers = [composed(at('low-rank'), { options: { rank: 8, features: 32 } }), composed(at('straight-through')), linear(10)]
    const own = defineModel({ name: 'own', input: [784], layers })
    const optimiser = { learningRate: 0.01 }
    const { testAccuracy } = await train({ model: own, data: flat, learners: 2, batch: 10, optimiser, until: { epochs: 6 } }).finished
    expect(testAccuracy).to.be.greaterThan(0.4)
  })
})
