import { expect } from 'chai'
import { gpt } from '../../../src/model/zoo/index.js'
import { train } from '../../../src/run/train.js'
import { Folder } from '../../data/support/files.js'
import { runOnnx } from '../../formats/support/onnxruntime.js'
import { run } from '../support/arbalest.js'
import { datasetFromText } from '../../../src/data/datasets.js'

describe('arbalest generate', () => {
  it('lets a saved model write on from a prompt, the same for the same seed', async () => {
    await using folder = await Folder.make()
    const [file, onnx] = [`${folder.path}/text.safetensors`, `${folder.path}/text.onnx`]
    const data = await datasetFromText({ text: 'abcabcabd '.repeat(200), context: 8 })
    const model = gpt({ input: data.sample, classes: data.classes }, { layers: 1, heads: 2, width: 16 })
    await using job = train({ model, data, batch: 8, learners: 1, until: { steps: 10 } })
    await job.finished
    await job.model.save(file)
    const generate = (...flags: string[]) => run(['generate', file, 'ab', '--length', '30', ...flags])
    const [first, again, other] = [await generate(), await generate(), await generate('--seed', '4', '--top-k', '3', '--top-p', '0.9')]
    expect(first.code, first.stderr).to.equal(0)
    expect(first.stdout).to.match(/^ab[abcd ]{30}\n$/)
    expect(again.stdout).to.equal(first.stdout)
    expect(other.stdout).to.not.equal(first.stdout)
    const written = await job.model.generate('ab', { length: 30, seed: 4, topK: 3, topP: 0.9 })
    expect(other.stdout).to.equal(`ab${written}\n`)
    const text = first.stdout.slice(2, -1)
    const ended = text.slice(0, text.indexOf(text.slice(9, 12)))
    expect((await generate('--json', '--stop', text.slice(9, 12))).lines[0]).to.deep.equal({ file, prompt: 'ab', text: ended })
    expect((await run(['generate', file, 'xyz'])).stderr).to.match(/^INVALID_OPTION: prompt: .*x/)
    expect((await run(['predict', file, 'ab'])).stderr).to.match(
      /^INVALID_OPTION: inputs: received "ab"; model gpt takes samples \(8\), .*arbalest generate/
    )

    await job.model.save(onnx)
    const tokens = Int32Array.from([0, 1, 2, 3, 4, 0, 1, 2])
    const { data: logits } = await runOnnx(onnx, tokens, [1, 8])
    const wanted = await job.model.predict(tokens)
    expect(Math.max(...wanted.map((value, i) => Math.abs(value - logits[i]!)))).to.be.below(1e-5)
  })
})
