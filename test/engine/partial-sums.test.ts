import { expect } from 'chai'
import { compile } from '../../src/compiler/compile.js'
import type { EngineBackend, LoweringBackend, LoweringRequest, Precision } from '../../src/compiler/program.js'
import { inOrder } from '../../src/compiler/step.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { buildGraph } from '../../src/model/graph-builder.js'
import { initialParameters } from '../../src/model/initialise.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { skip } from '../support/skip.js'
import { testedBackends } from './support/backends.js'
import { BoundOperator, runOnce } from './support/bound-operator.js'
import { activation, drawn, positive, rounded, wide, type OperatorCase, type Port, type Values } from './support/operator-case.js'

/** Images of one tile or of several; in some the last tile has fewer rows. */
const IMAGES = [
  { batch: 3, channels: 16, filters: 32, height: 32, width: 32, stride: 1 },
  { batch: 2, channels: 32, filters: 64, height: 16, width: 16, stride: 2 },
  { batch: 5, channels: 64, filters: 64, height: 8, width: 8, stride: 1 },
  { batch: 2, channels: 32, filters: 16, height: 13, width: 29, stride: 1 },
  { batch: 4, channels: 16, filters: 64, height: 3, width: 5, stride: 1 }
]
type Shape = (typeof IMAGES)[number]

const requestOf = ({ kind, attributes, inputs, outputs }: OperatorCase): LoweringRequest => {
  const offered = (port: Port | null) =>
    port && { shape: port.shape, type: port.type === 'wide' ? ('f32' as const) : ('bf16' as const), layout: null }
  return {
    kind,
    attributes,
    inputs: Object.values(inputs).map(offered),
    outputs: Object.values(outputs).map(offered),
    precision: 'bf16'
  }
}

const window = ({ stride }: Shape) => ({ stride: [stride, stride], padding: [1, 1], groups: 1 })
const outputOf = ({ batch, filters, height, width, stride }: Shape): Port =>
  activation(batch, filters, Math.ceil(height / stride), Math.ceil(width / stride))

function convolution(shape: Shape, sums: Port | null, relu = 0): OperatorCase {
  const { batch, channels, filters, height, width } = shape
  return {
    kind: 'conv2d',
    name: JSON.stringify(shape),
    attributes: { ...window(shape), relu },
    inputs: { x: activation(batch, channels, height, width), w: activation(filters, channels, 3, 3), b: wide(filters) },
    outputs: { y: outputOf(shape), ...(sums && { sums }) }
  }
}

interface Bounds {
  readonly relu: number
  readonly most?: number
}

interface Beside {
  readonly masked: boolean
  readonly second: boolean
  readonly most?: number
}

/** The gradient of the images of a convolution behind a batch norm whose input was `x` and whose output `y`. */
function convolutionGradient(shape: Shape, sums: Port | null, { masked, second, most }: Beside): OperatorCase {
  const { batch, channels, filters, height, width } = shape
  const image = activation(batch, channels, height, width)
  return {
    kind: 'conv2dBackwardData',
    name: JSON.stringify(shape),
    attributes: { ...window(shape), relu: masked ? 1 : 0, ...(most !== undefined && { most }) },
    inputs: {
      gy: outputOf(shape),
      w: activation(filters, channels, 3, 3),
      ...(sums && { x: image, mean: wide(channels), y: masked ? image : null, gx2: second ? image : null })
    },
    outputs: { gx: image, ...(sums && { sums }) }
  }
}

/** Calls `of` with the channel of each element of an image. */
function byChannel({ shape }: Port, of: (channel: number, at: number) => void): void {
  const [batch, channels, height, width] = shape as [number, number, number, number]
  for (let at = 0; at < batch * channels * height * width; at++) of(Math.floor(at / (height * width)) % channels, at)
}

/** The sums over all tiles of what a kernel gave, and how large their summands were. */
function expectSums(found: Float64Array, image: Port, summands: (at: number, channel: number) => readonly [number, number]): void {
  const channels = image.shape[1]!
  const wanted = new Float64Array(2 * channels)
  const sizes = new Float64Array(2 * channels)
  byChannel(image, (channel, at) => {
    summands(at, channel).forEach((summand, number) => {
      wanted[2 * channel + number]! += summand
      sizes[2 * channel + number]! += Math.abs(summand)
    })
  })
  const sums = new Float64Array(2 * channels)
  for (const [i, sum] of found.entries()) sums[i % (2 * channels)]! += sum
  for (const [i, sum] of sums.entries()) expect(sum, `number ${i}`).to.be.closeTo(wanted[i]!, 1e-5 * sizes[i]! + 1e-12)
}

const tilesOf = (backend: EngineBackend, use: OperatorCase): number => engine.lower(backend, requestOf(use)).partialSums ?? 0

for (const { name: backend } of testedBackends().filter(({ name }) => name.startsWith('cuda'))) {
  describe(`Partial sums on ${backend}`, () => {
    it('are those of what a convolution writes, and the image is the same', () => {
      for (const shape of IMAGES)
        for (const relu of [0, 1]) {
          const alone = convolution(shape, null, relu)
          const tiles = tilesOf(backend, alone)
          expect(tiles).to.be.at.least(shape.batch)
          const use = convolution(shape, wide(tiles, shape.filters, 2), relu)
          const values = drawn(use.inputs, 'bf16', 7)
          const { outputs, faults } = runOnce(backend, 'bf16', use, values)
          expect(faults).to.deep.equal([])
          expect(outputs['y']).to.deep.equal(runOnce(backend, 'bf16', alone, values).outputs['y'])
          expectSums(outputs['sums']!, use.outputs['y']!, (at) => [outputs['y']![at]!, outputs['y']![at]! ** 2])
        }
    })

    it('are those of the masked gradient that a batch norm adds up, and the gradient is the same', () => {
      const ways: Beside[] = [
        { masked: false, second: false },
        { masked: true, second: false },
        { masked: false, second: true },
        { masked: true, second: true, most: 0.5 }
      ]
      for (const shape of IMAGES)
        for (const beside of ways) {
          const alone = convolutionGradient(shape, null, beside)
          const tiles = tilesOf(backend, alone)
          expect(tiles).to.be.at.least(shape.batch)
          const use = convolutionGradient(shape, wide(tiles, shape.channels, 2), beside)
          const values = drawn(use.inputs, 'bf16', 9)
          const { outputs, faults } = runOnce(backend, 'bf16', use, values)
          expect(faults).to.deep.equal([])
          expect(outputs['gx']).to.deep.equal(runOnce(backend, 'bf16', alone, values).outputs['gx'])
          const { x, mean, y, gx2 } = values as { x: Float64Array; mean: Float64Array; y?: Float64Array; gx2?: Float64Array }
          expectSums(outputs['sums']!, use.outputs['gx']!, (at, channel) => {
            const passes = !y || (y[at]! > 0 && y[at]! < (beside.most ?? Infinity))
            const g = passes ? outputs['gx']![at]! + (gx2?.[at] ?? 0) : 0
            return [g, g * (x[at]! - mean[channel]!)]
          })
        }
    })

    it('are no convolution’s whose kernel is not ours, nor float32’s', () => {
      const shape = IMAGES[0]!
      expect(tilesOf(backend, convolution({ ...shape, channels: 3 }, null))).to.equal(0)
      expect(engine.lower(backend, { ...requestOf(convolution(shape, null)), precision: 'f32' }).partialSums).to.equal(0)
    })

    it('give a batch norm what it finds by itself, also over its input or its residual', () => {
      for (const { batch, filters, height, width } of IMAGES)
        for (const [bounds, residual, mean] of [
          [{ relu: 1, most: 1.5 }, true, 3],
          [{ relu: 0 }, false, 100]
        ] as [Bounds, boolean, number][]) {
          const image = activation(batch, filters, height, width)
          const x: Port = { ...image, draw: (u) => rounded(2 * u + mean, 'bf16') }
          const use = (sums: Port | null): OperatorCase => ({
            kind: 'batchNorm',
            name: `${filters} channels of ${height} x ${width}`,
            attributes: { epsilon: 1e-5, ...bounds },
            inputs: { x, gamma: wide(filters), beta: wide(filters), residual: residual ? image : null, sums },
            outputs: { y: image, mean: wide(filters), variance: wide(filters) }
          })
          const tiles = 11
          const values = drawn(use(null).inputs, 'bf16', 11)
          const sums = dealtOut(image, tiles, (at) => [values['x']![at]!, values['x']![at]! ** 2])
          const over = [['y', 'x'] as const, ...(residual ? [['y', 'residual'] as const] : [])]
          // Of a sum of squares near 10^4 float32's rounding, 2^-24 of it, is 2 thousandths of a variance of a third.
          expectAlike(backend, [use(null), use(wide(tiles, filters, 2))], [values, { ...values, sums }], over, mean === 100 ? 4e-3 : 1e-5)
        }
    })

    it('give the gradient of a batch norm what it finds by itself, also over its gradients', () => {
      for (const { batch, channels, height, width } of IMAGES)
        for (const [bounds, second] of [
          [{ relu: 1 }, false],
          [{ relu: 1, most: 0.5 }, true],
          [{ relu: 0 }, true]
        ] as [Bounds, boolean][]) {
          const image = activation(batch, channels, height, width)
          const use = (sums: Port | null): OperatorCase => ({
            kind: 'batchNormBackward',
            name: `${channels} channels of ${height} x ${width}`,
            attributes: { epsilon: 1e-5, ...bounds },
            inputs: {
              x: image,
              gamma: wide(channels),
              mean: wide(channels),
              variance: positive(channels),
              y: bounds.relu ? image : null,
              gy: image,
              gy2: second ? image : null,
              sums
            },
            outputs: { gx: image, ggamma: wide(channels), gbeta: wide(channels), gresidual: second ? image : null }
          })
          const tiles = 5
          const values = drawn(use(null).inputs, 'bf16', 13)
          const { x, y, gy, gy2, mean } = values as Record<string, Float64Array>
          const { most = Infinity } = bounds
          const sums = dealtOut(image, tiles, (at, channel) => {
            const g = !y || (y[at]! > 0 && y[at]! < most) ? gy![at]! + (gy2?.[at] ?? 0) : 0
            return [g, g * (x![at]! - mean![channel]!)]
          })
          const over = [['gx', 'gy'] as const, ...(second ? [['gresidual', 'gy2'] as const] : [])]
          expectAlike(backend, [use(null), use(wide(tiles, channels, 2))], [values, { ...values, sums }], over, 1e-5)
        }
    })

    it('are at most as many as each block of a batch norm may read', () => {
      for (const filters of [16, 64]) {
        const most = 4096 / filters
        const tiles = (batch: number) => tilesOf(backend, convolution({ ...IMAGES[0]!, batch, filters }, null))
        const ofImage = tiles(1)
        expect(tiles(most / ofImage)).to.equal(most)
        expect(tiles(most / ofImage + 1)).to.equal(0)
      }
    })

    it('are what the batch norms of a ResNet add up, and lead to a gradient that is as exact', function () {
      this.timeout(60_000)
      const [alone, together] = [false, true].map((sums) => stepOf(backend, 'bf16', sums)) as [Step, Step]
      expect(alone.taking).to.deep.equal({ batchNorm: 0, batchNormBackward: 0 })
      // Of 19 each: the first convolution has three channels, and the last gradient comes from the pooling.
      expect(together.taking).to.deep.equal({ batchNorm: 18, batchNormBackward: 18 })
      expect(together.loss).to.be.closeTo(alone.loss, 0.01)
      // Through so many layers the roundings of bfloat16 grow to a sixth of the gradient: those of the one way are no larger than those of the other.
      const exact = stepOf('cpu', 'f32', false).gradients
      const distance = ({ gradients }: Step): number => norm(exact.map((gradient, i) => gradients[i]! - gradient)) / norm(exact)
      expect(distance(alone)).to.be.within(0.05, 0.3)
      expect(distance(together)).to.be.below(1.1 * distance(alone))
    })

    it('are refused in another shape', () => {
      const shape = IMAGES[0]!
      const tiles = tilesOf(backend, convolution(shape, null))
      const { batch, filters, height, width } = shape
      const refused = (sums: Port, channels = filters): OperatorCase => ({
        kind: 'batchNorm',
        name: 'refused',
        attributes: { epsilon: 1e-5, relu: 0 },
        inputs: {
          x: activation(batch, channels, height, width),
          gamma: wide(channels),
          beta: wide(channels),
          residual: null,
          sums
        },
        outputs: { y: activation(batch, channels, height, width), mean: wide(channels), variance: wide(channels) }
      })
      for (const use of [
        convolution(shape, wide(tiles + 1, filters, 2)),
        convolution(shape, wide(tiles, filters, 1)),
        refused(wide(3, filters, 3)),
        refused(wide(3, 24, 2), 24)
      ])
        expect(() => new BoundOperator(backend, 'bf16', use))
          .to.throw()
          .with.property('code', 'INVALID_PROGRAM')
    })
  })
}

const norm = (vector: Float32Array): number => Math.sqrt(vector.reduce((sum, number) => sum + number * number, 0))

interface Step {
  /** How many operators take sums. */
  readonly taking: Readonly<Record<'batchNorm' | 'batchNormBackward', number>>
  readonly loss: number
  readonly gradients: Float32Array
}

/** The first step of ResNet-20, with the sums that convolutions offer or without. */
function stepOf(backend: EngineBackend, precision: Precision, sums: boolean): Step {
  const model = modelNamed('resnet20', { input: [3, 32, 32], classes: 10 })
  const batch = 8
  const count = batch
  const samples = Uint8Array.from({ length: count * 3072 }, (_, i) => (i * i * 31 + i * 7) % 251)
  const labels = Int32Array.from({ length: count }, (_, i) => i % 10)
  const asked = loweringBackend(engine, backend)
  const lowering: LoweringBackend = {
    ...asked,
    lower: (request) => ({ ...asked.lower(request), ...(!sums && { partialSums: 0 }) })
  }
  const program = compile(model, lowering, { batch, mode: 'train', precision, load: { mean: [0.4], std: [0.3] } })
  const dataset = engine.createDataset({ count, sample: model.input, samples, labels, classes: 10 })
  const replica = engine.createReplica({ backend, layout: program.parameters, threads: 1, seed: 3 })
  const handle = engine.createProgram(program)
  try {
    const slot = engine.bind(replica, handle, dataset)
    engine.writeVector(replica, 'weights', initialParameters(buildGraph(model, { batch, mode: 'train' }), 5))
    const { lossSum } = engine.run(replica, slot, { steps: 1, milliseconds: 60_000, position: 0, learningRate: 0 })
    const taking = (kind: 'batchNorm' | 'batchNormBackward', inputs: number): number =>
      inOrder(program.segments).filter((operator) => operator.kind === kind && operator.inputs.length === inputs).length
    return {
      taking: { batchNorm: taking('batchNorm', 5), batchNormBackward: taking('batchNormBackward', 8) },
      loss: lossSum,
      gradients: Float32Array.from(engine.readVector(replica, 'gradients'))
    }
  } finally {
    for (const each of [replica, handle, dataset]) engine.release(each)
  }
}

/** Two sums of each channel over tiles, to which its elements are dealt out in turns. */
function dealtOut(image: Port, tiles: number, summands: (at: number, channel: number) => readonly [number, number]): Float64Array {
  const channels = image.shape[1]!
  const sums = new Float64Array(tiles * channels * 2)
  byChannel(image, (channel, at) => {
    summands(at, channel).forEach((summand, number) => (sums[((at % tiles) * channels + channel) * 2 + number]! += summand))
  })
  return sums
}

/**
 * Compares a batch norm that finds the sums with one that is given them, the latter also with an output over an input. `exact`: how far apart float32 numbers are, as a share of the
 * largest.
 */
function expectAlike(
  backend: EngineBackend,
  [one, other]: readonly [OperatorCase, OperatorCase],
  [values, more]: readonly [Values, Values],
  over: readonly (readonly [output: string, input: string])[],
  exact: number
): void {
  const wanted = runOnce(backend, 'bf16', one, values).outputs
  for (const inPlace of [undefined, ...over]) {
    const bound = new BoundOperator(backend, 'bf16', other, inPlace && { inPlace })
    const found = bound.run(more)
    bound.release()
    expect(found.faults).to.deep.equal([])
    for (const [name, numbers] of Object.entries(wanted)) {
      const most = numbers.reduce((largest, number) => Math.max(largest, Math.abs(number)), 0)
      // A number that lies between two of bfloat16 may come to either.
      const step = other.outputs[name]!.type === 'wide' ? 0 : 1 / 128
      const wrong = numbers.findIndex(
        (number, i) => !(Math.abs(found.outputs[name]![i]! - number) <= step * Math.abs(number) + (step ? 10 * exact : exact) * most)
      )
      const place = inPlace ? ` over ${inPlace[1]}` : ''
      expect(
        wrong,
        `${one.kind} of ${one.name}${place}: ${name}[${wrong}] is ${found.outputs[name]![wrong]} for ${numbers[wrong]}`
      ).to.equal(-1)
    }
  }
}

describe('Partial sums', () => {
  it('are given by CUDA kernels alone', function () {
    const others = testedBackends().filter(({ name, available }) => available && !name.startsWith('cuda'))
    if (others.length === 0) skip(this, 'only the CUDA backend is tested')
    const narrow = others.filter(({ precisions }) => precisions.includes('bf16'))
    expect(narrow).not.to.be.empty
    for (const { name } of narrow) expect(tilesOf(name, convolution(IMAGES[0]!, null))).to.equal(0)
  })
})
