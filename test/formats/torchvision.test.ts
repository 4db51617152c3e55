import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { modelNamed } from '../../src/model/zoo/index.js'
import { loadModel } from '../../src/trained/load-model.js'
import { Folder } from '../data/support/files.js'
import { pythonWith } from '../oracle/pytorch.js'
import { skip } from '../support/skip.js'

const SCRIPT = fileURLToPath(new URL('../../../test/formats/reference_outputs.py', import.meta.url))
const CLASSES = 7

/** Ours, the name that the other library has, the library, and pixels a side. */
const MODELS = [
  ['vit-tiny', 'vit_tiny_patch16_224', 'timm', 112],
  ['mobilenet_v2', 'mobilenet_v2', 'torchvision', 96],
  ['mobilenet_v3_large', 'mobilenet_v3_large', 'torchvision', 96],
  ['mobilenet_v3_small', 'mobilenet_v3_small', 'torchvision', 64],
  ['efficientnet_b0', 'efficientnet_b0', 'torchvision', 64],
  ['efficientnet_b2', 'efficientnet_b2', 'torchvision', 64],
  ['convnext_tiny', 'convnext_tiny', 'torchvision', 64],
  ['inception_v3', 'inception_v3', 'torchvision', 128],
  ['resnext50_32x4d', 'resnext50_32x4d', 'torchvision', 64],
  ['wide_resnet50_2', 'wide_resnet50_2', 'torchvision', 64],
  ['resnet50_gn', 'resnet50_gn', 'timm', 64]
] as const

async function floats(path: string): Promise<Float32Array> {
  const { buffer, byteOffset, length } = await readFile(path)
  return new Float32Array(buffer.slice(byteOffset, byteOffset + length))
}

describe('weights of another library, by its names', function () {
  this.timeout(300_000)

  for (const [ours, theirs, library, side] of MODELS)
    it(`${ours} gives the outputs of ${library}'s ${theirs}`, async function () {
      const python = pythonWith('torch', 'safetensors', library)
      if (python === undefined) skip(this, `no python3 that imports torch, safetensors and ${library}`)
      await using folder = await Folder.make()
      execFileSync(python, [SCRIPT, theirs, folder.path, String(CLASSES), String(side)])
      const model = modelNamed(ours, { input: [3, side, side], classes: CLASSES })
      // Inputs are as the other library takes them: normalised already.
      const normalisation = { mean: [0], std: [1] }
      const trained = await loadModel(join(folder.path, 'weights.safetensors'), { model, normalisation })
      const expected = await floats(join(folder.path, 'outputs.f32'))
      const found = trained.predict(await floats(join(folder.path, 'inputs.f32')))
      expect(found).to.have.length(2 * CLASSES)
      const largest = Math.max(...expected.map(Math.abs))
      // Outputs that do not depend on the image would agree whatever the weights are.
      expect(Math.abs(expected[0]! - expected[CLASSES]!)).to.be.above(1e-3 * largest)
      for (const [i, value] of expected.entries()) expect(found[i]! / largest).to.be.closeTo(value / largest, 1e-4)
    })
})
