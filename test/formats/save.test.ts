import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { openDataset } from '../../src/data/open.js'
import { batchNorm2d, conv2d, defineModel, globalAvgPool, linear, localResponseNorm, relu } from '../../src/model/layers.js'
import { train } from '../../src/run/train.js'
import type { Job } from '../../src/run/job.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'
import { distance, runOnnx } from './support/onnxruntime.js'
import { randomSamples } from './support/random-weights.js'
import { checkSavePath, importWeights } from '../../src/formats/model-files.js'

const model = defineModel({
  name: 'normed',
  input: [1, 28, 28],
  layers: [
    conv2d(6, 3, { stride: 2, bias: false, name: 'conv' }),
    batchNorm2d({ name: 'bn' }),
    relu(),
    globalAvgPool(),
    linear(10, { name: 'fc' })
  ]
})

describe('saving a trained model', function () {
  this.timeout(60_000)
  let folder: Folder
  let job: Job
  const samples = randomSamples(model, 3)
  const normalisation = { mean: 0, std: 1 }
  before(async () => {
    folder = await Folder.make()
    const data = await openDataset('digits', { samples: 500 })
    Object.assign(normalisation, { mean: data.mean[0], std: data.std[0] })
    job = train({ model, data, learners: 1, batch: 16, until: { steps: 20 } })
    await job.finished
  })
  after(() => folder[Symbol.asyncDispose]())

  it('as ONNX gives a network that predicts the same from samples in 0 to 1', async () => {
    const file = join(folder.path, 'model.onnx')
    await job.model.save(file)
    const { data, shape } = await runOnnx(file, samples, [3, 1, 28, 28])
    expect(shape).to.deep.equal([3, 10])
    expect(distance(data, await job.model.predict(samples))).to.be.below(1e-5)
  })

  it('as ONNX leaves the normalisation to others where it is told to', async () => {
    const file = join(folder.path, 'any name')
    await job.model.save(file, { format: 'onnx', normalise: false })
    expect(normalisation.std).to.not.equal(1)
    const normalised = samples.map((x) => (x - normalisation.mean) / normalisation.std)
    const { data } = await runOnnx(file, normalised, [3, 1, 28, 28])
    expect(distance(data, await job.model.predict(samples))).to.be.below(1e-5)
  })

  it('as safetensors gives its weights and the statistics it was measured with', async () => {
    const file = join(folder.path, 'model.safetensors')
    await job.model.save(file)
    const { parameters, statistics } = await importWeights(file, model)
    const weights = await job.model.weights()
    expect(Object.keys(weights)).to.deep.equal(['conv.weight', 'bn.weight', 'bn.bias', 'fc.weight', 'fc.bias'])
    expect([...parameters]).to.deep.equal(Object.values(weights).flatMap(({ data }) => [...data]))
    const kept = await job.model.statistics()
    expect(statistics).to.deep.equal({
      'bn.runningMean': kept['bn.runningMean']!.data,
      'bn.runningVariance': kept['bn.runningVariance']!.data
    })
    expect(kept['bn.count']!.data[0]).to.be.greaterThan(0)
    expect(statistics['bn.runningVariance']!.every((variance) => variance > 0)).to.equal(true)
  })

  it('leaves nothing else in the folder', async () => {
    await job.model.save(join(folder.path, 'model.onnx'))
    expect((await readdir(folder.path)).filter((name) => name.startsWith('.'))).to.deep.equal([])
  })

  it('refuses a format and a place that are none', async () => {
    await refused('INVALID_OPTION', () => job.model.save(join(folder.path, 'model.pt')), 'model.pt', '.onnx')
    await refused('UNKNOWN_NAME', () => job.model.save('model.onnx', { format: 'pickle' as 'onnx' }), '"pickle"', 'onnx, safetensors')
    await refused('WRITE_FAILED', () => job.model.save(join(folder.path, 'absent', 'model.onnx')), 'ENOENT')
  })

  describe('checked before there is one', () => {
    const even = defineModel({ name: 'even', input: [3, 4, 4], layers: [localResponseNorm(4), globalAvgPool(), linear(2)] })

    it('is refused at a place that cannot be written, which stays as it is', async () => {
      const at = (...names: string[]) => join(folder.path, ...names)
      await writeFile(at('a file'), 'mine')
      await mkdir(at('folder.onnx'))
      const before = await readdir(folder.path)
      const long = `${'n'.repeat(251)}.onnx`
      for (const path of [
        at('a file', 'model.onnx'),
        at('folder.onnx'),
        at('new.onnx/'),
        at(long),
        '/proc/model.onnx',
        at('absent', 'model.onnx')
      ])
        await refused('WRITE_FAILED', () => checkSavePath(path), path)
      await refused('INVALID_OPTION', () => checkSavePath(at('model.pt')), 'model.pt')
      await checkSavePath(at('new.safetensors'))
      expect(await readdir(folder.path)).to.deep.equal(before)
    })

    it('is refused where the format has no form of the model', async () => {
      await refused('UNSUPPORTED_OPERATOR', () => checkSavePath(join(folder.path, 'even.onnx'), even), 'size')
      await checkSavePath(join(folder.path, 'even.safetensors'), even)
      await checkSavePath(join(folder.path, 'normed.onnx'), model)
      const huge = defineModel({ name: 'huge', input: [2 ** 15], layers: [linear(2 ** 15)] })
      await refused('INVALID_OPTION', () => checkSavePath(join(folder.path, 'huge.onnx'), huge), 'huge', 'safetensors')
    })
  })
})
