import { expect } from 'chai'
import { join } from 'node:path'
import { exportOnnx } from '../../src/formats/onnx/export.js'
import { deepZoo } from '../support/zoo.js'
import { Folder } from '../data/support/files.js'
import { distance, runOnnx } from './support/onnxruntime.js'
import { randomSamples, randomTrainedModel } from './support/random-weights.js'
import { expectReadBack } from './support/read-back.js'

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

describe('a saved deep network', function () {
  this.timeout(600_000)

  for (const model of deepZoo)
    it(`${model.name} is read back exactly`, async () => {
      await using folder = await Folder.make()
      await expectReadBack(model, join(folder.path, 'model.safetensors'))
    })
})
