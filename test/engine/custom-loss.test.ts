import { expect } from 'chai'
import { checkProgram } from '../compiler/support/check-program.js'
import { compile } from '../../src/compiler/compile.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { buildGraph } from '../../src/model/graph-builder.js'
import { initialParameters } from '../../src/model/initialise.js'
import { conv2d, defineModel, flatten, linear, relu } from '../../src/model/layers.js'

const BATCH = 4
const CLASSES = 5
const model = defineModel({
  name: 'small',
  input: [2, 6, 6],
  layers: [conv2d(7, 3), relu(), flatten(), linear(CLASSES)]
})

describe('a loss of the caller', () => {
  for (const backend of ['reference', 'cpu'] as const) {
    it(`gives the gradients of the built-in loss where it is the same, on ${backend}`, () => {
      const options = { batch: BATCH, mode: 'train', precision: 'f32' } as const
      const builtIn = compile(model, loweringBackend(engine, backend), options)
      const custom = compile(model, loweringBackend(engine, backend), { ...options, loss: 'custom', parameters: builtIn.parameters })
      checkProgram(custom)
      const samples = Float32Array.from({ length: 10 * 72 }, (_, i) => Math.sin(i))
      const labels = Int32Array.from({ length: 10 }, (_, i) => (3 * i) % CLASSES)
      const dataset = engine.createDataset({ count: 10, sample: [2, 6, 6], samples, labels, classes: CLASSES })
      const replica = engine.createReplica({ backend, layout: builtIn.parameters, threads: 1, seed: 1 })
      const initial = initialParameters(buildGraph(model, { batch: BATCH, mode: 'train' }), 3)
      engine.writeVector(replica, 'weights', initial)
      const run = (slot: number, segment: 'load' | 'forward' | 'backward' | 'update') =>
        expect(engine.runSegment(replica, slot, segment, { milliseconds: 0, learningRate: 0.1 })).to.equal('ran')

      const first = engine.bind(replica, engine.createProgram(builtIn), dataset)
      for (const segment of ['load', 'forward', 'backward'] as const) run(first, segment)
      const expected = engine.readVector(replica, 'gradients')
      const loss = engine.readValue(replica, first, 'loss')[0]!

      const second = engine.bind(replica, engine.createProgram(custom), dataset)
      run(second, 'load')
      run(second, 'forward')
      const logits = engine.readValue(replica, second, 'output')
      const target = engine.readValue(replica, second, 'target')
      const gradient = new Float32Array(BATCH * CLASSES)
      for (let n = 0; n < BATCH; n++) {
        const powers = Array.from(logits.subarray(n * CLASSES, (n + 1) * CLASSES), Math.exp)
        const sum = powers.reduce((a, b) => a + b)
        powers.forEach((power, k) => (gradient[n * CLASSES + k] = (power / sum - (k === target[n] ? 1 : 0)) / BATCH))
      }
      engine.writeValue(replica, second, 'output.gradient', gradient)
      engine.writeValue(replica, second, 'loss', Float32Array.of(loss))
      run(second, 'backward')
      const found = engine.readVector(replica, 'gradients')
      expect(expected.some((value) => Math.abs(value) > 0.01)).to.equal(true)
      expected.forEach((value, i) => expect(found[i]).to.be.closeTo(value, 1e-5))
      run(second, 'update')
      engine.readVector(replica, 'weights').forEach((weight, i) => expect(weight).to.be.closeTo(initial[i]! - 0.1 * expected[i]!, 1e-5))
    })
  }
})
