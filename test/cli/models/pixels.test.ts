import { expect } from 'chai'
import sharp from 'sharp'
import { conv2d, defineModel, imagePositions, saveModel } from '../../../src/index.js'
import { Folder } from '../../data/support/files.js'
import { run } from '../support/arbalest.js'

describe('arbalest predict with a model that gives each pixel a class', () => {
  it('tells the share of each class, and as JSON the class of each pixel', async () => {
    await using folder = await Folder.make()
    const [file, image] = [`${folder.path}/bright.safetensors`, `${folder.path}/eight.png`]
    const model = defineModel({ name: 'bright', input: [1, 2, 4], layers: [conv2d(2, 1), imagePositions()] })
    const weights = {
      'conv1.weight': { shape: [2, 1, 1, 1], data: Float32Array.of(0, 1) },
      'conv1.bias': { shape: [2], data: Float32Array.of(0, -0.5) }
    }
    await saveModel(file, { model, weights, statistics: {}, normalisation: { mean: [0], std: [1] }, classNames: ['dark', 'bright'] })
    const pixels = [0, 255, 0, 0, 255, 0, 255, 0]
    await sharp(Uint8Array.from(pixels), { raw: { width: 4, height: 2, channels: 1 } })
      .png()
      .toFile(image)
    const told = await run(['predict', file, image])
    expect(told.stdout, told.stderr).to.equal(`${image}: dark 62.50%, bright 37.50% of its pixels\n`)
    const { stdout } = await run(['predict', file, image, '--json', '--top', '1'])
    expect(JSON.parse(stdout)).to.deep.equal({
      file: image,
      shares: [{ class: 0, name: 'dark', share: 5 / 8 }],
      pixels: pixels.map((pixel) => (pixel > 0 ? 1 : 0))
    })
  })
})
