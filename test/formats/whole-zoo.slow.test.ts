import { expect } from 'chai'
import { exportOnnx } from '../../src/formats/onnx/export.js'
import { deepZoo } from '../support/zoo.js'
import { distance, runOnnx } from './support/onnxruntime.js'
import { randomSamples, randomTrainedModel } from './support/random-weights.js'

describe('an exported ONNX file of a deep network', function () {
  this.timeout(600_000)

  for (const model of deepZoo)
    it(`${model.name} gives the engine's outputs in ONNX Runtime`, async () => {
      const trained = randomTrainedModel(model)
      const samples = randomSamples(model, 2)
      const { data } = await runOnnx(exportOnnx(model, { ...trained.weights(), ...trained.statistics() }), samples, [2, ...model.input])
      expect(distance(data, trained.predict(samples))).to.be.below(1e-5)
    })
})
