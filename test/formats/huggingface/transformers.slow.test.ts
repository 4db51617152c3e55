import { expect } from 'chai'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Tokenizer } from '../../../src/formats/tokenizer/tokenizer.js'
import { readTokenizerFiles } from '../../../src/formats/tokenizer/tokenizer-files.js'
import { datasetFromArrays, loadModel, train } from '../../../src/index.js'
import { Folder } from '../../data/support/files.js'
import { pythonWith } from '../../oracle/pytorch.js'
import { skip } from '../../support/skip.js'

const SCRIPT = fileURLToPath(new URL('../../../../test/formats/huggingface/transformers_check.py', import.meta.url))

/** Largest difference of any output. */
const TOLERANCE = 1e-4

/** Against the library transformers, whose models have small configs and random weights: nothing is downloaded. */
describe('A folder of transformers', function () {
  this.timeout(300_000)
  let folder: Folder
  let python: string
  const run = (...args: readonly string[]) =>
    execFileSync(python, [SCRIPT, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  const numbers = <Kind extends Float32Array | Int32Array>(file: string, kind: { new (buffer: ArrayBuffer): Kind }): Kind =>
    new kind(Uint8Array.from(readFileSync(join(folder.path, file))).buffer)

  before(async function () {
    const found = pythonWith('torch', 'transformers', 'tokenizers')
    if (found === undefined) skip(this, 'no Python with torch and transformers; name one in ARBALEST_PYTHON')
    python = found
    folder = await Folder.make()
    run('make', folder.path)
  })
  after(() => folder?.[Symbol.asyncDispose]())

  const samplesOf = (name: string) => (name.startsWith('gpt2') ? numbers(`${name}.in`, Int32Array) : numbers(`${name}.in`, Float32Array))

  const worst = (some: Float32Array, others: Float32Array): number => {
    expect(some).to.have.length(others.length)
    return some.reduce((most, value, i) => Math.max(most, Math.abs(value - others[i]!)), 0)
  }

  for (const name of [
    'gpt2',
    'gpt2-sharded',
    'gpt2-base',
    'gpt2-untied',
    'gpt2-padded',
    'resnet-bottleneck',
    'resnet-basic',
    'resnet-first',
    'vit',
    'vit-tanh'
  ])
    it(`${name} gives the outputs that it gives there, and again after it was written back`, async () => {
      const model = await loadModel(join(folder.path, name))
      const outputs = model.predict(samplesOf(name))
      expect(worst(outputs, numbers(`${name}.out`, Float32Array))).to.be.below(TOLERANCE)
      const back = join(folder.path, `${name}-back`)
      await model.save(`${back}/`)
      run('load', back, join(folder.path, `${name}.in`), join(folder.path, `${name}-back.out`))
      expect(worst(outputs, numbers(`${name}-back.out`, Float32Array))).to.be.below(TOLERANCE)
    })

  it('has a tokenizer that gives the same tokens', () => {
    const tokenizer = Tokenizer.of(readTokenizerFiles(join(folder.path, 'gpt2'))!, 'gpt2')
    const texts = JSON.parse(readFileSync(join(folder.path, 'tokens.json'), 'utf8')) as { readonly text: string; readonly ids: number[] }[]
    for (const { text, ids } of texts) expect([tokenizer.encode(text), tokenizer.decode(ids)]).to.deep.equal([ids, text])
  })

  it('is trained further on a text, and loaded there again with the same outputs and tokens', async () => {
    const job = train({
      initial: join(folder.path, 'gpt2'),
      data: join(folder.path, 'text.txt'),
      context: 16,
      learners: 1,
      until: { steps: 30 },
      seed: 1
    })
    await job.finished
    const before = (await loadModel(join(folder.path, 'gpt2'), { context: 16 })).weights()
    expect((await job.model.weights())['tokens.weight']!.data).to.not.deep.equal(before['tokens.weight']!.data)
    const back = join(folder.path, 'tuned')
    await job.model.save(`${back}/`)
    const input = numbers('gpt2.in', Int32Array).slice(0, 3 * 16)
    run('load', back, join(folder.path, 'gpt2-16.in'), join(folder.path, 'tuned.out'))
    expect(worst(await job.model.predict(input), numbers('tuned.out', Float32Array))).to.be.below(TOLERANCE)
    expect(await job.model.generate('The ', { length: 12, seed: 2 }))
      .to.be.a('string')
      .and.not.equal('')
    expect(JSON.parse(run('tokens', back, 'The other end'))).to.deep.equal(
      JSON.parse(run('tokens', join(folder.path, 'gpt2'), 'The other end'))
    )
  })

  it('is trained further on images of other classes, with a new head', async () => {
    const images = Float32Array.from({ length: 40 * 3 * 32 * 32 }, (_, i) => ((i * 7919) % 101) / 101)
    const labels = Int32Array.from({ length: 40 }, (_, i) => i % 2)
    const data = datasetFromArrays({ samples: images, labels, sample: [3, 32, 32], classes: 2, name: 'noise' })
    const job = train({ initial: join(folder.path, 'resnet-basic'), data, learners: 1, batch: 8, until: { steps: 5 }, seed: 1 })
    await job.finished
    const back = join(folder.path, 'tuned-images')
    await job.model.save(`${back}/`)
    const input = images.slice(0, 2 * 3 * 32 * 32)
    const raw = join(folder.path, 'tuned-images.in')
    await folder.write('tuned-images.in', new Uint8Array(input.buffer))
    run('load', back, raw, join(folder.path, 'tuned-images.out'))
    expect(worst(await job.model.predict(input), numbers('tuned-images.out', Float32Array))).to.be.below(TOLERANCE)
  })
})
