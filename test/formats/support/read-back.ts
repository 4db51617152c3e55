import { expect } from 'chai'
import { readSafetensors } from '../../../src/formats/safetensors.js'
import type { Model } from '../../../src/model/model.js'
import { randomTrainedModel } from './random-weights.js'
import { importWeights, saveModel } from '../../../src/formats/model-files.js'

/** A model that is saved to a file and imported from there has the same bits. */
export async function expectReadBack(saved: Model, file: string): Promise<void> {
  const trained = randomTrainedModel(saved)
  const [weights, statistics] = [trained.weights(), trained.statistics()]
  await saveModel(file, { model: saved, weights, statistics, normalisation: { mean: [0.5], std: [0.25] } }, {})
  const imported = await importWeights(file, saved)
  let offset = 0
  for (const { data } of Object.values(weights)) {
    expectSameBits(imported.parameters.subarray(offset, (offset += data.length)), data)
  }
  expect(offset).to.equal(imported.parameters.length)
  for (const [statistic, data] of Object.entries(imported.statistics)) expectSameBits(data, statistics[statistic]!.data)
  expect(Object.keys(imported.statistics).length).to.equal((Object.keys(statistics).length * 2) / 3)
  expect((await readSafetensors(file)).metadata).to.include({ format: 'pt', model: saved.name, mean: '[0.5]', std: '[0.25]' })
}

/** At once: chai compares 200 million weights one by one, for minutes. */
function expectSameBits(found: Float32Array, wanted: Float32Array): void {
  const bytes = ({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array => new Uint8Array(buffer, byteOffset, byteLength)
  expect(Buffer.compare(bytes(found), bytes(wanted))).to.equal(0)
}
