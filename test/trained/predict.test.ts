import { expect } from 'chai'
import { engine } from '../../src/engine/native.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { batchNorm2d, conv2d, defineModel, flatten, linear, relu } from '../../src/model/layers.js'
import { predictionProgram } from '../../src/trained/programs.js'
import { TrainedModel } from '../../src/trained/trained-model.js'
import { atOnce } from '../../src/turns.js'
import { distance } from '../formats/support/onnxruntime.js'
import { randomSamples } from '../formats/support/random-weights.js'
import { savedOf } from '../formats/support/saved-of.js'

const MODULE = new URL('../../src/engine/native.js', import.meta.url)

describe('A trained model', () => {
  for (const threads of [1, 3])
    it(`computes no more samples than it is given, with ${threads} threads`, () => {
      const layers = [conv2d(8, 3), batchNorm2d(), relu(), flatten(), linear(5)]
      const model = defineModel({ name: 'images', input: [3, 6, 6], layers })
      const size = 3 * 6 * 6
      const computed: number[] = []
      const counting: typeof engine = {
        ...engine,
        writeValue(replica, slot, name, data) {
          if (name === 'input') computed.push(data.length / size)
          engine.writeValue(replica, slot, name, data)
        }
      }
      const program = atOnce(predictionProgram(model, 'f32', loweringBackend(engine, 'cpu', threads)))
      const replica = engine.createReplica({ backend: 'cpu', layout: program.parameters, threads, seed: 0 })
      const trained = TrainedModel.of(savedOf(model), { engine: counting, module: MODULE, program, replica, threads })
      const samples = randomSamples(model, 128)
      const outputs = trained.predict(samples)
      expect(computed.splice(0)).to.deep.equal([64, 64])
      for (const [count, batches] of [
        [0, []],
        [1, [1]],
        [17, [8, 8, 1]],
        [74, [64, 8, 1, 1]]
      ] as const) {
        const some = trained.predict(samples.subarray(0, count * size))
        expect(computed.splice(0)).to.deep.equal(batches)
        expect(some).to.have.length(count * 5)
        if (count > 0) expect(distance(some, outputs.subarray(0, count * 5))).to.be.below(1e-5)
      }
    })
})
