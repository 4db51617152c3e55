import { expect } from 'chai'
import fc from 'fast-check'
import { compileGraph } from '../../src/compiler/compile.js'
import { gradientRules, lossRules } from '../../src/compiler/gradient-rules.js'
import type { Program } from '../../src/compiler/program.js'
import type { Handle } from '../../src/engine/contract.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { buildGraph } from '../../src/model/graph-builder.js'
import { elements, type OperatorKind } from '../../src/model/graph.js'
import { keyOf, philox } from '../../src/model/philox.js'
import { resnet } from '../../src/model/zoo/index.js'
import type { Model } from '../../src/model/model.js'
import { randomModel } from './support/random-model.js'

/** Numbers in [-1, 1), a function of the key. */
function numbers(count: number, key: number): Float64Array {
  return Float64Array.from({ length: count }, (_, i) => philox(keyOf(key), [i, 0, 0, 0])[0] * 2 ** -31 - 1)
}

/** A training step in doubles on the plain reference, with inputs, targets and weights from a seed. */
class Step {
  readonly program: Program
  readonly weights: Float64Array
  readonly #replica: Handle
  readonly #slot: number

  constructor(model: Model, batch: number, seed: number) {
    const graph = buildGraph(model, { batch, mode: 'train' })
    const unloaded = { ...graph, operators: graph.operators.filter(({ kind }) => kind !== 'load') }
    this.program = compileGraph(unloaded, loweringBackend(engine, 'reference'), { mode: 'train', precision: 'f64' })
    const layout = this.program.parameters
    this.#replica = engine.createReplica({ backend: 'reference', layout, threads: 1, seed })
    const program = engine.createProgram(this.program)
    this.#slot = engine.bind(this.#replica, program)
    engine.release(program)
    this.weights = numbers(layout.elements, seed)
    const { input, target, output } = this.program.named
    this.#write('input', numbers(elements(this.program.values[input!]!.shape), seed + 1))
    const { shape, type } = this.program.values[target!]!
    const classes = this.program.values[output!]!.shape[1]!
    const targets = numbers(elements(shape), seed + 2)
    this.#write('target', type === 'i32' ? Int32Array.from(targets, (value) => Math.floor(((value + 1) / 2) * classes)) : targets)
  }

  loss(weights: Float64Array): number {
    engine.writeVector(this.#replica, 'weights', weights)
    engine.runSegment(this.#replica, this.#slot, 'forward')
    return engine.readValue(this.#replica, this.#slot, 'loss')[0]!
  }

  gradients(): Float64Array {
    this.loss(this.weights)
    engine.runSegment(this.#replica, this.#slot, 'backward')
    return engine.readVector(this.#replica, 'gradients') as Float64Array
  }

  release(): void {
    engine.release(this.#replica)
  }

  #write(name: string, data: Float64Array | Int32Array): void {
    engine.writeValue(this.#replica, this.#slot, name, data)
  }
}

/**
 * Compares the gradient of every parameter, along a random direction of that parameter, with central differences. A step that meets a
 * kink of a ReLU or of max pooling is wrong by itself: a gradient is right where it agrees for one of two widths.
 */
function checkGradients(model: Model, batch: number, seed: number): Program {
  const step = new Step(model, batch, seed)
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

describe('gradients of any model', () => {
  it('agree with finite differences', () => {
    const anyStep = fc.record({
      model: randomModel({ extent: 7, layers: 6 }),
      batch: fc.integer({ min: 2, max: 4 }),
      seed: fc.integer({ min: 0, max: 2 ** 31 })
    })
    const seen = new Set<OperatorKind>()
    const agree = ({ model, batch, seed }: { model: Model; batch: number; seed: number }): void => {
      for (const { kind } of checkGradients(model, batch, seed).segments.backward) seen.add(kind)
    }
    fc.assert(fc.property(anyStep, agree), { seed: 20, numRuns: 120 })
    const everyKind = Object.keys({ ...gradientRules, ...lossRules }).filter((kind) => kind !== 'add' && kind !== 'reshape')
    for (const kind of everyKind)
      expect(
        [...seen].some((one) => one.startsWith(`${kind}Backward`)),
        kind
      ).to.equal(true)
  })

  for (const shortcut of ['A', 'B'] as const)
    it(`agree with finite differences: a ResNet of 8 layers, shortcut ${shortcut}`, () => {
      checkGradients(resnet({ input: [3, 8, 8], classes: 5 }, { depth: 8, shortcut }), 3, 1)
    })
})
