import { expect } from 'chai'
import * as fc from 'fast-check'
import type { LoadOptions } from '../../src/model/graph-builder.js'
import { operatorRows } from '../../src/model/operators/table.js'
import type { Program } from '../../src/compiler/program.js'
import { elements, type OperatorKind } from '../../src/model/graph.js'
import { conv2d, defineModel, embedding, flatten, linear, positions } from '../../src/model/layers.js'
import { resnet } from '../../src/model/zoo/index.js'
import type { Model } from '../../src/model/model.js'
import { testedBackends } from '../engine/support/backends.js'
import { skip } from '../support/skip.js'
import { randomDepthwiseModel } from './support/random-depthwise-model.js'
import { randomModel } from './support/random-model.js'
import { randomRecurrentModel } from './support/random-recurrent-model.js'
import { randomSequenceModel } from './support/random-sequence-model.js'
import { randomTokenModel } from './support/random-token-model.js'
import { numbers, TrainingStep } from './support/training-step.js'

const PLAIN = { backend: 'reference', precision: 'f64' } as const
const MIXED = { load: { mixup: 1 } } as const

/**
 * Compares the gradient of every parameter, along a random direction of that parameter, with central differences. A step that meets a
 * kink of a ReLU or of max pooling is wrong by itself: a gradient is right where it agrees for one of two widths.
 */
function checkGradients(model: Model, batch: number, seed: number, options: { readonly load?: LoadOptions } = {}): Program {
  const step = new TrainingStep(model, batch, seed, { ...PLAIN, ...options })
  try {
    const gradients = step.gradients()
    for (const { name, shape, canonical } of step.program.parameters.parameters) {
      const direction = numbers(elements(shape), seed + 3)
      const along = (width: number): number => {
        const moved = Float64Array.from(step.weights)
        for (const [i, value] of direction.entries()) moved[canonical + i]! += width * value
        return step.loss(moved)
      }
      const ours = direction.reduce((sum, value, i) => sum + value * gradients[canonical + i]!, 0)
      const scale = direction.reduce(
        (sum, value, i) => sum + Math.abs(value * gradients[canonical + i]!),
        Math.abs(step.loss(step.weights))
      )
      const errors = [1e-6, 1e-8].map((width) => Math.abs((along(width) - along(-width)) / (2 * width) - ours))
      expect(Math.min(...errors) / scale, `${name}: gradient ${ours}, errors ${errors.join(' and ')}`).to.be.below(1e-6)
    }
    return step.program
  } finally {
    step.release()
  }
}

/** How far the gradients of a backend in f32 are from those of the plain reference in doubles, as a share of their length. */
function distance(
  model: Model,
  batch: number,
  seed: number,
  backend: 'cpu' | 'reference',
  options: { readonly load?: LoadOptions } = {}
): number {
  const steps = [
    new TrainingStep(model, batch, seed, { ...PLAIN, ...options }),
    new TrainingStep(model, batch, seed, { backend, precision: 'f32', ...options })
  ] as const
  try {
    const [plain, ours] = [steps[0].gradients(), steps[1].gradients()]
    // Behind ReLUs that are all shut every gradient is 0.
    return Math.hypot(...ours.map((value, i) => value - plain[i]!)) / (Math.hypot(...plain) || 1)
  } finally {
    for (const step of steps) step.release()
  }
}

/** What computes the gradients of those that have no operator of their own for it: themselves, or what they are the gradient of. */
const GRADIENTS: Readonly<Partial<Record<OperatorKind, OperatorKind>>> = {
  matmul: 'matmul',
  stochasticDepth: 'stochasticDepth',
  conv2dBackwardData: 'conv2d',
  imagePositionsBackward: 'imagePositions'
}

const anyStep = fc.record({
  model: fc.oneof({ arbitrary: randomModel({ extent: 7, layers: 6 }), weight: 2 }, { arbitrary: randomSequenceModel(), weight: 1 }),
  batch: fc.integer({ min: 2, max: 4 }),
  seed: fc.integer({ min: 0, max: 2 ** 31 })
})

const anyTokenStep = fc.record({
  model: randomTokenModel(),
  batch: fc.integer({ min: 2, max: 4 }),
  seed: fc.integer({ min: 0, max: 2 ** 31 })
})

const anyDepthwiseStep = fc.record({
  model: randomDepthwiseModel(),
  batch: fc.integer({ min: 2, max: 4 }),
  seed: fc.integer({ min: 0, max: 2 ** 31 })
})

const anyRecurrentStep = fc.record({
  model: randomRecurrentModel(),
  batch: fc.integer({ min: 2, max: 4 }),
  seed: fc.integer({ min: 0, max: 2 ** 31 })
})

describe('gradients of any model', () => {
  it('agree with finite differences', () => {
    const seen = new Set<OperatorKind>()
    const agree = ({ model, batch, seed }: { model: Model; batch: number; seed: number }): void => {
      for (const { kind } of checkGradients(model, batch, seed).segments.backward) seen.add(kind)
    }
    fc.assert(fc.property(anyStep, agree), { seed: 21, numRuns: 200 })
    fc.assert(fc.property(anyTokenStep, agree), { seed: 20, numRuns: 40 })
    fc.assert(fc.property(anyDepthwiseStep, agree), { seed: 20, numRuns: 40 })
    fc.assert(fc.property(anyRecurrentStep, agree), { seed: 20, numRuns: 40 })
    // The gradient of soft targets is made in the forward pass.
    const own = (kind: string): boolean => !['add', 'multiply', 'reshape', 'softTargetCrossEntropy'].includes(kind)
    const differentiated = [...operatorRows()].filter(([, { gradient, lossGradient }]) => gradient ?? lossGradient)
    const everyKind = differentiated.map(([kind]) => kind).filter(own)
    expect(everyKind).to.include.members(['conv2d', 'softmaxCrossEntropy'])
    for (const kind of everyKind)
      expect(
        [...seen].some((one) => (GRADIENTS[kind] ? one === GRADIENTS[kind] : one.startsWith(`${kind}Backward`))),
        kind
      ).to.equal(true)
  })

  for (const shortcut of ['A', 'B'] as const)
    it(`agree with finite differences: a ResNet of 8 layers, shortcut ${shortcut}`, () => {
      checkGradients(resnet({ input: [3, 8, 8], classes: 5 }, { depth: 8, shortcut }), 3, 1)
    })

  for (const options of [{}, { labelSmoothing: 0.2 }, { labelSmoothing: 0.1, classWeights: [0, 0.5, 1, 2, 1.5] }])
    it(`agree with finite differences where targets are shares of classes: ${JSON.stringify(options)}`, () => {
      const model = { ...resnet({ input: [3, 8, 8], classes: 5 }, { depth: 8, shortcut: 'A' }), ...options }
      checkGradients(model, 3, 1, MIXED)
      for (const backend of ['reference', 'cpu'] as const) expect(distance(model, 3, 1, backend, MIXED), backend).to.be.below(1e-4)
    })

  for (const backend of ['reference', 'cpu'] as const)
    it(`are those of the reference in doubles to f32's precision: ${backend}`, () => {
      const agree = ({ model, batch, seed }: { model: Model; batch: number; seed: number }): void => {
        expect(distance(model, batch, seed, backend)).to.be.below(1e-4)
      }
      fc.assert(fc.property(anyStep, agree), { seed: 21, numRuns: 150 })
      fc.assert(fc.property(anyTokenStep, agree), { seed: 20, numRuns: 40 })
      fc.assert(fc.property(anyDepthwiseStep, agree), { seed: 20, numRuns: 40 })
    })

  it('are the same where a layer is called as a gradient is', () => {
    const layers = [conv2d(16, 3, { name: 'first' }), flatten({ name: 'first.gradient' }), linear(3)]
    expect(distance(defineModel({ name: 'called', input: [3, 8, 8], layers }), 4, 1, 'cpu')).to.be.below(1e-4)
  })

  for (const { name: backend, precisions } of testedBackends())
    it(`stay wide under bf16, also where several layers share a parameter: ${backend}`, function () {
      if (!precisions.includes('bf16')) skip(this, 'this processor has no bf16')
      const layers = [embedding(7, 6, { name: 'tokens' }), positions(), linear(7, { tied: 'tokens' })]
      const step = new TrainingStep(defineModel({ name: 'tied', input: [4], layers }), 3, 1, { backend, precision: 'bf16' })
      try {
        const shared = step.gradients().subarray(0, 7 * 6)
        const halves = new Uint16Array(Float32Array.from(shared).buffer).filter((_, i) => i % 2 === 0)
        expect(
          halves.some((low) => low !== 0),
          'a gradient has more bits than bfloat16'
        ).to.equal(true)
      } finally {
        step.release()
      }
    })
})
