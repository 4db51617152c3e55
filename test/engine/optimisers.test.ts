import { expect } from 'chai'
import { engine } from '../../src/engine/native.js'
import { OPTIMISER_CASES, RATE, STEPS, askPyTorch, noise, readOptimiserFixture } from '../oracle/optimiser-problem.js'
import { pythonWithTorch } from '../oracle/pytorch.js'
import { skip } from '../support/skip.js'
import { DEVICE } from './support/device-training.js'
import { largestDifference, randomSamples, smallTraining } from './support/small-training.js'
import type { OptimiserAttributes } from '../../src/compiler/optimiser.js'
import type { EngineBackend, Program, SegmentName } from '../../src/compiler/program.js'
import type { Handle } from '../../src/engine/contract.js'

/** A replica on its own whose gradients are written by the test. */
function alone(backend: EngineBackend, optimiser: OptimiserAttributes, batch = 4): { replica: Handle; slot: number; program: Program } {
  const { program, initial } = smallTraining(backend, optimiser, { batch })
  const replica = engine.createReplica({ backend, layout: program.parameters, threads: 1, seed: 1 })
  const slot = engine.bind(replica, engine.createProgram(program), randomSamples(300))
  engine.writeVector(replica, 'weights', initial)
  return { replica, slot, program }
}

/** The gradients of a step. */
type GradientsOf = (count: number, step: number) => readonly number[]

function afterSteps(backend: EngineBackend, optimiser: OptimiserAttributes, gradientsOf: GradientsOf = noise): Float32Array | Float64Array {
  const { replica, slot, program } = alone(backend, optimiser)
  const { elements } = program.parameters
  engine.writeVector(replica, 'weights', Float32Array.from(noise(elements, 0)))
  for (let step = 1; step <= STEPS; step++) {
    engine.writeVector(replica, 'gradients', Float32Array.from(gradientsOf(elements, step)))
    engine.runSegment(replica, slot, 'update', { milliseconds: 1000, learningRate: RATE })
  }
  return engine.readVector(replica, 'weights')
}

/** LARS as its publication writes it, with the rate outside of the velocity; parameters of one dimension take plain steps. */
function plainLars(
  program: Program,
  { trust, decay, momentum }: { trust: number; decay: number; momentum: number },
  gradientsOf: GradientsOf
): Float64Array {
  const w = Float64Array.from(noise(program.parameters.elements, 0))
  const v = new Float64Array(w.length)
  const norm = (values: ArrayLike<number>) => Math.sqrt(Array.from(values).reduce((sum, value) => sum + value * value, 0))
  for (let step = 1; step <= STEPS; step++) {
    const g = gradientsOf(w.length, step)
    for (const { canonical, shape } of program.parameters.parameters) {
      const end = canonical + shape.reduce((product, extent) => product * extent, 1)
      const [ofW, ofG] = [norm(w.slice(canonical, end)), norm(g.slice(canonical, end))]
      const ratio = shape.length > 1 ? (trust * ofW) / (ofG + decay * ofW) : 1
      for (let i = canonical; i < end; i++) {
        v[i] = momentum * v[i]! + ratio * (g[i]! + decay * w[i]!)
        w[i] = w[i]! - RATE * v[i]!
      }
    }
  }
  return w
}

for (const backend of ['reference', 'cpu'] as const)
  describe(`optimisers on ${backend}`, () => {
    for (const [name, { ours }] of Object.entries(OPTIMISER_CASES))
      it(`${name} is PyTorch's, over ten steps`, () => {
        expect(largestDifference(afterSteps(backend, ours), readOptimiserFixture().trained[name]!)).below(2e-6)
      })

    for (const [what, gradientsOf] of Object.entries({ noise, 'no gradient': (count: number) => Array<number>(count).fill(0) }))
      it(`LARS is as its publication writes it, of ${what}`, () => {
        const { program } = smallTraining(backend, {})
        const plain = plainLars(program, { trust: 0.05, decay: 1e-2, momentum: 0.9 }, gradientsOf)
        const trained = afterSteps(backend, { name: 'lars', trust: 0.05, momentum: 0.9, weightDecay: 1e-2 }, gradientsOf)
        expect(largestDifference(trained, plain)).below(2e-6)
      })

    it('the mean gradient of four batches is that of the joined batch', () => {
      const optimiser = { name: 'adamw', clipNorm: 0.5 } as const
      const [joined, apart] = [alone(backend, optimiser, 16), alone(backend, { ...optimiser, accumulate: 4 })].map(({ replica, slot }) => {
        const report = engine.run(replica, slot, { steps: 5, milliseconds: 10_000, learningRate: 0.01 })
        return { report, weights: engine.readVector(replica, 'weights'), gradients: engine.readVector(replica, 'gradients') }
      })
      expect(largestDifference(apart!.weights, joined!.weights)).below(1e-5)
      expect(largestDifference(apart!.gradients, joined!.gradients)).below(1e-6)
      expect(apart!.report).to.include({ steps: 5, correctSum: joined!.report.correctSum })
      expect(apart!.report.lossSum).closeTo(joined!.report.lossSum, 1e-5)
    })
  })

describe('an optimiser that keeps means', () => {
  for (const backend of ['cpu', DEVICE] as const)
    for (const optimiser of [
      { name: 'adam', beta1: 0.99999, beta2: 0.999999 },
      { name: 'rmsprop', beta2: 0.999999, epsilon: 0.01 },
      { name: 'rmsprop', beta2: 0.9, momentum: 0.9, clipValue: 0.5 }
    ] as const)
      it(`has betas as near to 1 as they are given: ${optimiser.name} with ${optimiser.beta2}, on ${backend}`, () => {
        expect(largestDifference(afterSteps(backend, optimiser), afterSteps('reference', optimiser))).below(4e-6)
      })
})

describe('an optimiser', () => {
  for (const backend of ['reference', 'cpu', DEVICE] as const)
    for (const limits of [{}, { clipValue: 0.5 }])
      it(`leaves a gradient that is no number as it is ${limits.clipValue ? 'where gradients are limited' : 'without limits'}, on ${backend}`, () => {
        const { replica, slot, program } = alone(backend, { name: 'sgd', ...limits })
        const gradients = Float32Array.from({ length: program.parameters.elements }, (_, i) => [NaN, Infinity, -Infinity, 1][i % 4]!)
        engine.writeVector(replica, 'gradients', gradients)
        engine.writeVector(replica, 'weights', new Float32Array(gradients.length))
        engine.runSegment(replica, slot, 'update', { milliseconds: 1000, learningRate: 1 })
        const limit = limits.clipValue ?? Infinity
        const wanted = gradients.map((g) => -Math.max(-limit, Math.min(limit, g)))
        expect([...engine.readVector(replica, 'weights')]).to.deep.equal([...wanted])
      })

  it('gives its states to be read and written, and a restart forgets them and the steps behind', () => {
    const { replica, slot, program } = alone('cpu', { name: 'adam' })
    const gradient = Float32Array.from(noise(program.parameters.elements, 1))
    const step = () => {
      engine.writeVector(replica, 'gradients', gradient)
      engine.runSegment(replica, slot, 'update', { milliseconds: 1000, learningRate: 0.01 })
    }
    step()
    expect(
      largestDifference(
        engine.readVector(replica, 'firstMoment'),
        gradient.map((g) => 0.1 * g)
      )
    ).below(1e-7)
    expect(
      largestDifference(
        engine.readVector(replica, 'secondMoment'),
        gradient.map((g) => 0.001 * g * g)
      )
    ).below(1e-8)
    engine.writeVector(replica, 'firstMoment', new Float32Array(gradient.length))
    expect(largestDifference(engine.readVector(replica, 'firstMoment'), new Float32Array(gradient.length))).to.equal(0)
    const rmsprop = alone('cpu', { name: 'rmsprop' }).replica
    expect(engine.readVector(rmsprop, 'secondMoment')).to.have.length(gradient.length)
    expect(() => engine.readVector(rmsprop, 'firstMoment'))
      .to.throw()
      .with.property('code', 'UNKNOWN_NAME')
    expect(() => engine.readVector(replica, 'velocity'))
      .to.throw()
      .with.property('code', 'UNKNOWN_NAME')
  })

  it('takes a batch at a time where a learner composes its step, and no more than it accumulates', () => {
    const { replica, slot } = alone('reference', { accumulate: 2 })
    const whole = alone('reference', { accumulate: 2 })
    engine.run(whole.replica, whole.slot, { steps: 1, milliseconds: 1000, learningRate: 0.1 })
    const run = (...segments: SegmentName[]) => {
      for (const segment of segments) engine.runSegment(replica, slot, segment, { milliseconds: 1000, learningRate: 0.1 })
    }
    const refusal = (segment: SegmentName, had: number) =>
      expect(() => run(segment))
        .to.throw(`${segment}: the step has had ${had} of its 2 batches`)
        .with.property('code', 'INVALID_STATE')
    refusal('update', 0)
    run('load', 'forward', 'backward')
    refusal('exchange', 1)
    run('load', 'forward')
    refusal('update', 1)
    run('backward')
    expect(() => engine.runSegment(replica, slot, 'load'))
      .to.throw()
      .with.property('code', 'INVALID_STATE')
    for (const segment of ['exchange', 'update'] as const)
      engine.runSegment(replica, slot, segment, { milliseconds: 1000, learningRate: 0.1 })
    expect(largestDifference(engine.readVector(replica, 'weights'), engine.readVector(whole.replica, 'weights'))).to.equal(0)
  })
})

describe("PyTorch's optimisers", () => {
  it('give their recorded answers where it is installed', function () {
    const python = pythonWithTorch()
    if (python === undefined) skip(this, 'no python3 that imports torch; on Debian: apt-get install python3-torch')
    const now = askPyTorch(python, smallTraining('reference', {}).program)
    for (const [name, trained] of Object.entries(readOptimiserFixture().trained))
      expect(largestDifference(now.trained[name]!, trained), name).below(1e-9)
  })
})
