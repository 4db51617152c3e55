import { expect } from 'chai'
import { join } from 'node:path'
import { DESCRIPTION, describe as describeModel } from '../../src/formats/description.js'
import { toPyTorchName } from '../../src/formats/import-weights.js'
import type { ReadModelOptions } from '../../src/formats/import-options.js'
import { writeSafetensors } from '../../src/formats/safetensors.js'
import { predictionGraph } from '../../src/model/graph-builder.js'
import { elements, parametersOf } from '../../src/model/graph.js'
import type { Model } from '../../src/model/model.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'
import { readModel } from '../../src/formats/model-files.js'

/** In torchvision's names and without a word about itself. */
async function writeBare(file: string, model: Model, metadata: Record<string, string> = {}): Promise<void> {
  const tensors = parametersOf(predictionGraph(model)).map(
    ({ name, shape }) => [toPyTorchName(name), { shape, data: new Float32Array(elements(shape)) }] as const
  )
  await writeSafetensors(file, tensors, { metadata, sync: false })
}

describe('A model from a file that does not say how its images were cropped', function () {
  this.timeout(60_000)

  it('takes the usual crop where it is one of photographs in colour, unless the file describes its model', async () => {
    await using folder = await Folder.make()
    const file = join(folder.path, 'bare.safetensors')
    const encodingOf = async (name: string, size: number, described = false) => {
      const model = modelNamed(name, { input: [3, size, size], classes: 2 })
      await writeBare(file, model, described ? { [DESCRIPTION]: describeModel(model), mean: '[0]', std: '[1]' } : {})
      return (await readModel(file, { ...(!described && { model }), strict: false })).encoding
    }
    expect(await encodingOf('resnet18', 64)).to.deep.equal({ kind: 'image', resize: 73 })
    expect(await encodingOf('resnet18', 64, true)).to.equal(undefined)
    expect(await encodingOf('resnet20', 32)).to.equal(undefined)
  })
})

describe('A model from a file that does not say how its samples were normalised', function () {
  this.timeout(60_000)
  let folder: Folder
  before(async () => (folder = await Folder.make()))
  after(() => folder[Symbol.asyncDispose]())

  const normalisation = async (
    name: string,
    input: readonly number[],
    options: ReadModelOptions & { metadata?: Record<string, string> } = {}
  ) => {
    const model = modelNamed(name, { input, classes: 2 })
    const file = join(folder.path, 'bare.safetensors')
    const { metadata, ...reading } = options
    await writeBare(file, model, metadata)
    return (await readModel(file, { model, strict: false, ...reading })).normalisation
  }

  it("takes ImageNet's where it is one of photographs in colour, as torchvision's weights do", async () => {
    const imagenet = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] }
    expect(await normalisation('resnet18', [3, 32, 32])).to.deep.equal(imagenet)
    expect(await normalisation('resnet18', [1, 32, 32])).to.deep.equal({ mean: [], std: [] })
    expect(await normalisation('resnet20', [3, 32, 32])).to.deep.equal({ mean: [], std: [] })
  })

  it('takes what the caller says over that, and what the file says over all', async () => {
    const given = { mean: [0.5], std: [0.25] }
    expect(await normalisation('resnet18', [3, 32, 32], { normalisation: given })).to.deep.equal(given)
    const metadata = { mean: '[0.1]', std: '[0.2]' }
    expect(await normalisation('resnet18', [3, 32, 32], { normalisation: given, metadata })).to.deep.equal({
      mean: [0.1],
      std: [0.2]
    })
  })

  it('is refused where it has neither a number for each channel nor one for all, or a deviation of 0', async () => {
    const given = (mean: readonly number[], std: readonly number[]) => () =>
      normalisation('resnet18', [3, 32, 32], { normalisation: { mean, std } })
    await refused('INVALID_OPTION', given([0.1, 0.2], [1, 1]), 'normalisation.mean', '3 channels')
    await refused('INVALID_OPTION', given([NaN], [1]), 'normalisation.mean')
    await refused('INVALID_OPTION', given([0.1, 0.2, 0.3], [1, 0, 1]), 'normalisation.std', 'above 0')
    const metadata = { mean: '[0.1,0.2]', std: '[1,1]' }
    await refused('DATA_CORRUPT', () => normalisation('resnet18', [3, 32, 32], { metadata }), 'metadata mean', '3 channels')
  })
})
