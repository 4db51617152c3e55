import { expect } from 'chai'
import * as fc from 'fast-check'
import { buildGraph } from '../../src/model/graph-builder.js'
import { elements, parametersOf } from '../../src/model/graph.js'
import type { Model } from '../../src/model/model.js'
import { prediction } from './support/prediction.js'
import { randomDepthwiseModel } from './support/random-depthwise-model.js'
import { randomModel } from './support/random-model.js'
import { randomNestedModel } from './support/random-nested-model.js'
import { randomRecurrentModel } from './support/random-recurrent-model.js'
import { randomSequenceModel } from './support/random-sequence-model.js'
import { randomTokenModel } from './support/random-token-model.js'
import { numbers, TrainingStep } from './support/training-step.js'

const PLAIN = { backend: 'reference', precision: 'f64' } as const

const anyStep = fc.record({
  model: fc.oneof(
    { arbitrary: randomNestedModel(), weight: 4 },
    { arbitrary: randomModel({ extent: 7, layers: 6 }), weight: 1 },
    { arbitrary: randomSequenceModel(), weight: 1 },
    { arbitrary: randomTokenModel(), weight: 1 },
    { arbitrary: randomDepthwiseModel(), weight: 1 },
    { arbitrary: randomRecurrentModel(), weight: 1 }
  ),
  batch: fc.integer({ min: 2, max: 4 }),
  seed: fc.integer({ min: 0, max: 2 ** 31 })
})

type AnyStep = typeof anyStep extends fc.Arbitrary<infer Step> ? Step : never

type Options = ConstructorParameters<typeof TrainingStep>[3]

/** The loss and the gradients of one step, by the names of the parameters that learn. */
function stepOf(model: Model, batch: number, seed: number, options: Options) {
  const step = new TrainingStep(model, batch, seed, options)
  try {
    const all = step.gradients()
    const gradients = step.program.parameters.parameters
      .filter(({ frozen }) => !frozen)
      .map(({ name, shape, canonical }) => [name, all.slice(canonical, canonical + elements(shape))] as const)
    return { loss: step.loss(step.weights), gradients: new Map(gradients) }
  } finally {
    step.release()
  }
}

function expectAlike(one: ReturnType<typeof stepOf>, other: ReturnType<typeof stepOf>, within: number): void {
  expect(Math.abs(one.loss - other.loss), `losses ${one.loss} and ${other.loss}`).to.be.at.most(within * Math.max(1, Math.abs(other.loss)))
  const length = Math.hypot(...[...other.gradients.values()].flatMap((each) => [...each]))
  for (const [name, gradient] of one.gradients) {
    const expected = other.gradients.get(name)!
    expect(Math.hypot(...gradient.map((value, i) => value - expected[i]!)), name).to.be.at.most(within * (length || 1))
  }
}

/** About half of them, and never all. */
function someParameters(model: Model, batch: number, seed: number): readonly string[] {
  const names = parametersOf(buildGraph(model, { batch, mode: 'train' })).map(({ name }) => name)
  const draws = numbers(names.length, seed + 5)
  const some = names.filter((_, i) => draws[i]! > 0)
  return some.length < names.length ? some : some.slice(1)
}

describe('a step whose operators are joined and whose values share their memory', () => {
  it('gives what the same step gives apart', () => {
    const agree = ({ model, batch, seed }: AnyStep): void =>
      expectAlike(stepOf(model, batch, seed, PLAIN), stepOf(model, batch, seed, { ...PLAIN, apart: true }), 1e-9)
    fc.assert(fc.property(anyStep, agree), { seed: 20, numRuns: 150 })
  })

  it('gives what the same step gives where nothing is frozen', () => {
    const agree = ({ model, batch, seed }: AnyStep): void => {
      const frozen = stepOf(model, batch, seed, { ...PLAIN, freeze: someParameters(model, batch, seed) })
      expectAlike(frozen, stepOf(model, batch, seed, { ...PLAIN, apart: true }), 1e-9)
    }
    fc.assert(fc.property(anyStep, agree), { seed: 21, numRuns: 100 })
  })

  it('gives the same bits where it holds as little as it can', () => {
    const speed = { flopsPerSecond: 1e11, bytesPerSecond: 1e10, cacheBytesPerSecond: 1e10, cacheBytes: 0 }
    const agree = ({ model, batch, seed }: AnyStep): void => {
      const usual = { backend: 'cpu', precision: 'f32' } as const
      expectAlike(stepOf(model, batch, seed, { ...usual, limit: { activations: 0, speed } }), stepOf(model, batch, seed, usual), 0)
    }
    fc.assert(fc.property(anyStep, agree), { seed: 22, numRuns: 50 })
  })

  it('gives what the reference gives in doubles, to the precision of f32', () => {
    const agree = ({ model, batch, seed }: AnyStep): void =>
      expectAlike(
        stepOf(model, batch, seed, { backend: 'cpu', precision: 'f32' }),
        stepOf(model, batch, seed, { ...PLAIN, apart: true }),
        1e-3
      )
    fc.assert(fc.property(anyStep, agree), { seed: 23, numRuns: 100 })
  })

  for (const usual of [PLAIN, { backend: 'cpu', precision: 'f32' }] as const)
    it(`predicts what the same model predicts apart: ${usual.backend} in ${usual.precision}`, () => {
      const agree = ({ model, batch, seed }: AnyStep): void => {
        const [ours, apart] = [usual, { ...PLAIN, apart: true }].map((options) => prediction(model, batch, seed, options)) as [
          Float64Array,
          Float64Array
        ]
        const within = usual === PLAIN ? 1e-9 : 1e-3
        expect(Math.hypot(...ours.map((value, i) => value - apart[i]!))).to.be.at.most(within * (Math.hypot(...apart) || 1))
      }
      fc.assert(fc.property(anyStep, agree), { seed: 24, numRuns: 150 })
    })
})
