import { expect } from 'chai'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gpt } from '../../../src/model/zoo/index.js'
import { train } from '../../../src/run/train.js'
import { Folder } from '../../data/support/files.js'
import { run } from '../support/arbalest.js'
import { datasetFromText } from '../../../src/data/datasets.js'

const TEXT = 'abcabcabd '.repeat(200)

describe('arbalest eval on a text', () => {
  let folder: Folder
  let file: string
  let testLoss: number | null
  before(async () => {
    folder = await Folder.make()
    file = join(folder.path, 'text.safetensors')
    const data = await datasetFromText({ text: TEXT, context: 8 })
    const model = gpt({ input: data.sample, classes: data.classes }, { layers: 1, heads: 2, width: 16 })
    await using job = train({ model, data, batch: 8, learners: 1, until: { steps: 10 } })
    testLoss = (await job.finished).testLoss
    await job.model.save(file)
  })
  after(() => folder[Symbol.asyncDispose]())

  const measured = async (text: string, ...flags: string[]) => {
    await writeFile(join(folder.path, 'input.txt'), text)
    return run(['eval', file, '--data', 'tinyshakespeare', '--data-dir', folder.path, ...flags])
  }

  it("measures as its training did, in windows of the model's length", async () => {
    const { code, lines, stderr } = await measured(TEXT, '--json')
    expect(code, stderr).to.equal(0)
    expect(lines[0]).to.include({ model: 'gpt', data: 'tinyshakespeare', samples: 24, testLoss })
    const { stdout } = await measured(TEXT, '--metrics', 'f1,perClass,confusion')
    expect(stdout).to.match(/^gpt on tinyshakespeare: test accuracy \d+\.\d\d%, test loss \d/)
    const [, numbers, , classes, ...rows] = stdout.split('\n')
    expect(numbers).to.match(/^F1 0\.\d{4}$/)
    expect(classes).to.match(/^class  samples  precision  recall      F1     IoU$/)
    expect(rows[1]).to.match(/^a +\d+(?: +(?:0|1)\.\d{4}){4}$/)
    expect(rows[6]).to.match(/^classes by row, answers by column:$/)
    expect(rows[7]!.trim()).to.match(/^.*a +b +c +d$/)
    expect((await measured(TEXT, '--metrics', 'r2')).stderr).to.match(
      /^INVALID_OPTION: --metrics: received "r2"; the model chooses among classes/
    )
    expect((await measured(TEXT, '--metrics', 'f1,f2')).stderr).to.match(
      /^UNKNOWN_NAME: --metrics\[1\]: received "f2"; use one of auc, confusion, /
    )
  })

  it('takes the path of a text in place of a name, and so does a training', async () => {
    const path = join(folder.path, 'own.txt')
    await writeFile(path, TEXT)
    const { code, lines, stderr } = await run(['eval', file, '--data', path, '--json'])
    expect(code, stderr).to.equal(0)
    expect(lines[0]).to.include({ model: 'gpt', samples: 24, testLoss })
    const size = ['--layers', '1', '--heads', '2', '--width', '16', '--context', '8']
    const trained = await run(['train', '--model', 'gpt', ...size, '--data', path, '--learners', '1', '--steps', '2', '--json'])
    expect(trained.code, trained.stderr).to.equal(0)
    expect(trained.lines.at(-1)).to.include({ event: 'finished', iterations: 2 })
    expect((await run(['train', '--model', 'gpt', '--data', join(folder.path, 'none.txt')])).stderr).to.match(
      /^INVALID_OPTION: --data: received ".*none\.txt"; there is no such file or folder/
    )
  })

  it('refuses a text with other characters, even as many, and data that is not a text', async () => {
    expect((await measured(TEXT.replaceAll('a', 'x'))).stderr).to.match(/^INVALID_OPTION: --data: received "tinyshakespeare"; .*characters/)
    const unshaped = await run(['predict', file, file, '--model', 'gpt', '--data', 'tinyshakespeare'])
    expect(unshaped.stderr).to.match(/^INVALID_OPTION: --model: received "gpt"; also give its shapes: --input SHAPE and --classes COUNT\n$/)
    expect((await run(['eval', file, '--data', 'digits'])).stderr).to.match(/^SHAPE_MISMATCH: data digits/)
    expect((await run(['eval', file])).stderr).to.match(/^INVALID_OPTION: --data: received nothing; name a text \(--data FILE\.txt\)/)
  })
})
