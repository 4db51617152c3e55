import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { openDataset } from '../../src/data/open.js'
import { batchNorm2d, conv2d, defineModel, flatten, linear, relu } from '../../src/model/layers.js'
import { train } from '../../src/run/train.js'
import { Folder } from '../data/support/files.js'
import { pythonWith } from '../oracle/pytorch.js'
import { skip } from '../support/skip.js'

const SCRIPT = fileURLToPath(new URL('../../../test/formats/loads.py', import.meta.url))
const PIXELS = 28 * 28

describe('a saved model in PyTorch', function () {
  this.timeout(120_000)

  it('loads by the names of its modules, and gives the same outputs', async function () {
    const python = pythonWith('torch', 'safetensors')
    if (python === undefined) skip(this, 'no python3 that imports torch and safetensors')
    await using folder = await Folder.make()
    const [file, pixels] = ['model.safetensors', 'pixels'].map((name) => join(folder.path, name)) as [string, string]
    const layers = [
      conv2d(6, 5, { name: 'conv1', stride: 2, padding: 1, bias: false }),
      batchNorm2d({ name: 'bn1' }),
      relu(),
      flatten(),
      linear(10, { name: 'fc' })
    ]
    const job = train({
      model: defineModel({ name: 'small', input: [1, 28, 28], layers }),
      data: 'digits',
      learners: 1,
      until: { steps: 30 }
    })
    await job.finished
    await job.model.save(file)
    const { test } = await openDataset('digits')
    const samples = (test.samples as Uint8Array).subarray(0, 7 * PIXELS)
    await writeFile(pixels, samples)
    const theirs = JSON.parse(execFileSync(python, [SCRIPT, file, pixels], { encoding: 'utf8' })) as number[]
    const ours = [...(await job.model.predict(samples))]
    expect(theirs).to.have.length(70)
    expect(Math.max(...ours.map(Math.abs))).to.be.greaterThan(1)
    for (const [i, value] of ours.entries()) expect(theirs[i]).to.be.closeTo(value, 1e-4)
  })
})
