import { expect } from 'chai'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { MODEL_FILE } from '../../../src/checkpoints/checkpoint.js'
import { CheckpointStore } from '../../../src/checkpoints/store.js'
import { openDataset } from '../../../src/data/open.js'
import type { StoredDataset } from '../../../src/data/dataset.js'
import { decodeModel } from '../../formats/support/decode-onnx.js'
import { stateAt } from '../../checkpoints/support/measured-state.js'
import { readSafetensors, writeSafetensors } from '../../../src/formats/safetensors.js'
import type { EvaluatedEvent } from '../../../src/observe/events.js'
import { train } from '../../../src/run/train.js'
import { loadModel, modelFile } from '../../../src/trained/load-model.js'
import { Folder } from '../../data/support/files.js'
import { runOnnx } from '../../formats/support/onnxruntime.js'
import { warningsIn } from '../../support/warnings.js'
import { run } from '../support/arbalest.js'
import { readingOptions } from '../../../src/cli/models/model-flags.js'
import { readModel, saveModel } from '../../../src/formats/model-files.js'
import { defineModel, globalAvgPool, linear } from '../../../src/model/layers.js'
import { vitOfForm } from '../../../src/model/zoo/vit.js'
import { savedOf } from '../../formats/support/saved-of.js'
import { refused } from '../../support/codes.js'

describe('arbalest export, import, eval and predict', function () {
  this.timeout(120_000)
  let folder: Folder
  let file: string
  let data: StoredDataset
  let testAccuracy: number | null
  const at = (name: string) => join(folder.path, name)
  const image = (index: number) => Uint8Array.from(data.test.samples.subarray(784 * index, 784 * (index + 1)))

  before(async () => {
    folder = await Folder.make()
    file = at('digits.safetensors')
    data = await openDataset('digits')
    await using job = train({ model: 'mlp', data, learners: 2, until: { steps: 200 } })
    testAccuracy = (await job.finished).testAccuracy
    await job.model.save(file)
    await sharp(image(1), { raw: { width: 28, height: 28, channels: 1 } })
      .resize(140, 140, { kernel: 'nearest' })
      .png()
      .toFile(at('one.png'))
  })
  after(() => folder[Symbol.asyncDispose]())

  it('measures a file as its training did', async () => {
    const { code, lines, stderr } = await run(['eval', file, '--data', 'digits', '--json'])
    expect(code, stderr).to.equal(0)
    expect(lines[0]).to.include({ model: 'mlp', data: 'digits', samples: 2000, testAccuracy })
    expect((await run(['eval', file])).stdout).to.match(/^mlp on digits: test accuracy \d+\.\d\d%, test loss \d/)
  })

  it('says what an image shows', async () => {
    const { code, lines, stderr } = await run(['predict', file, at('one.png'), at('one.png'), '--json', '--top', '2'])
    expect(code, stderr).to.equal(0)
    expect(lines).to.have.length(2)
    const [best, second] = lines[0]!['classes'] as { name: string; class: number; probability: number }[]
    expect(best).to.include({ class: data.test.labels![1], name: `${data.test.labels![1]}` })
    expect(best!.probability).to.be.within(second!.probability, 1)
    expect((await run(['predict', file, at('one.png')])).stdout).to.match(/one\.png: \d \d+\.\d\d%, \d \d+\.\d\d%, \d \d+\.\d\d%\n$/)
  })

  it('says it of many images, and of all in a folder and its subfolders', async () => {
    await mkdir(at('images/more'), { recursive: true })
    for (const name of ['b.png', 'a.png', 'more/c.png']) await copyFile(at('one.png'), at(`images/${name}`))
    await writeFile(at('images/notes.md'), 'no image')
    const { code, lines, stderr } = await run(['predict', file, at('images'), at('one.png'), '--json'])
    expect(code, stderr).to.equal(0)
    expect(lines.map((line) => line['file'])).to.deep.equal([
      ...['a.png', 'b.png', 'more/c.png'].map((name) => at(`images/${name}`)),
      at('one.png')
    ])
    expect(new Set(lines.map((line) => JSON.stringify(line['classes']))).size).to.equal(1)
  })

  it('goes on behind an image that cannot be read, and fails at the end', async () => {
    await mkdir(at('mixed'), { recursive: true })
    for (const name of ['a.png', 'c.png']) await copyFile(at('one.png'), at(`mixed/${name}`))
    await writeFile(at('mixed/b.png'), (await readFile(at('one.png'))).subarray(0, 60))
    const { code, stdout, stderr } = await run(['predict', file, at('mixed')])
    expect(code).to.equal(1)
    expect(stdout).to.match(/^.*a\.png: .*\n.*c\.png: .*\n$/)
    expect(stderr).to.match(/^DATA_CORRUPT: .*b\.png: expected an image, found .*\n$/)
    const { lines } = await run(['predict', file, at('mixed'), at('none.png'), '--json'])
    expect(lines.map((line) => [line['file'], (line['error'] as { code: string } | undefined)?.code])).to.deep.equal([
      [at('mixed/a.png'), undefined],
      [at('mixed/b.png'), 'DATA_CORRUPT'],
      [at('mixed/c.png'), undefined],
      [at('none.png'), 'DATA_NOT_FOUND']
    ])
  })

  it('refuses what is no image, what is no model and what is not there', async () => {
    expect((await run(['predict', file, file])).stderr).to.match(/^DATA_CORRUPT: .*an image/)
    expect((await run(['predict', file, at('none.png')])).stderr).to.match(/^DATA_NOT_FOUND: .*none\.png/)
    expect((await run(['predict', at('one.png'), at('one.png')])).stderr).to.match(/^DATA_CORRUPT: /)
    for (const [flag, name] of [
      ['--data', 'nmist'],
      ['--model', 'lenett']
    ] as const)
      expect((await run(['predict', file, at('one.png'), flag, name])).stderr).to.match(
        new RegExp(`^UNKNOWN_NAME: ${flag}: received "${name}"; use one of `)
      )
    expect((await run(['export', file, '--out', at('model.pdf')])).stderr).to.match(/^INVALID_OPTION: .*\.onnx/)
    for (const [command, name, said] of [
      ['import', 'as.onnx', /^INVALID_OPTION: --out: .*as\.onnx"; import writes safetensors/],
      ['export --no-normalise', 'plain.safetensors', /^INVALID_OPTION: --no-normalise: .*only ONNX/]
    ] as const) {
      const { code, stderr } = await run([...command.split(' '), file, '--out', at(name)])
      expect({ code, there: existsSync(at(name)) }).to.deep.equal({ code: 2, there: false })
      expect(stderr).to.match(said)
    }
  })

  it('exports what onnxruntime computes alike', async () => {
    const { code, stdout, stderr } = await run(['export', file, '--out', at('digits.onnx')])
    expect(code, stderr).to.equal(0)
    expect(stdout).to.match(/digits\.onnx: mlp, \d+ tensors\n$/)
    const samples = Float32Array.from(image(1), (pixel) => pixel / 255)
    const { data: logits } = await runOnnx(at('digits.onnx'), samples, [1, 1, 28, 28])
    const predicted = await run(['predict', file, at('one.png'), '--json', '--top', '1'])
    const [best] = predicted.lines[0]!['classes'] as { class: number }[]
    expect(logits.indexOf(Math.max(...logits))).to.equal(best!.class)
    const { metadataProps } = decodeModel(await readFile(at('digits.onnx')))
    expect(metadataProps).to.deep.equal([{ key: 'classes', value: JSON.stringify(data.classNames) }])
  })

  it('takes the newest of a folder of checkpoints, and with --best the one that was measured best', async () => {
    const untrained = at('untrained.safetensors')
    expect((await run(['import', file, '--reinitialise', '*', '--out', untrained])).code).to.equal(0)
    const kept = at('kept')
    const checkpoint = (iteration: number, measured: Partial<EvaluatedEvent> | undefined, from: string) => ({
      iteration,
      files: { [MODEL_FILE]: (path: string) => copyFile(from, path) },
      state: stateAt(iteration, measured)
    })
    const measured = async (...flags: string[]) => (await run(['eval', kept, '--json', ...flags])).lines[0]!
    {
      await using store = await CheckpointStore.open(kept)
      await store.write(checkpoint(1, undefined, untrained))
      expect(await measured('--best')).to.include({ event: 'failed', code: 'INVALID_OPTION' })
      await store.write(checkpoint(2, { testAccuracy: 0.9 }, file))
      await store.write(checkpoint(3, { testAccuracy: 0.1 }, untrained))
    }
    expect((await measured())['testAccuracy']).to.be.below(0.5)
    expect(await measured('--best')).to.include({ testAccuracy })
    const exported = await run(['export', kept, '--best', '--out', at('best.safetensors')])
    expect(exported.code, exported.stderr).to.equal(0)
    expect(await readFile(at('best.safetensors'))).to.deep.equal(await readFile(file))
    expect((await run(['predict', file, at('one.png'), '--best'])).stderr).to.match(/^INVALID_OPTION: --best: .*no folder of checkpoints/)
    const newest = await modelFile(kept)
    await truncate(newest, 100)
    let earlier = ''
    const told = await warningsIn(async () => void (earlier = await modelFile(kept)))
    expect(earlier).to.include('checkpoint-000000000002')
    expect(told).to.have.length(1)
    expect(told[0]).to.match(/^a newer checkpoint is passed over: .*checkpoint-000000000003.*found 100 bytes/)
  })

  it('makes a file of others one of its own: names translated, a head replaced', async () => {
    const { tensors } = await readSafetensors(file)
    await writeSafetensors(
      at('theirs.safetensors'),
      [...tensors].map(([name, tensor]) => [`net_${name}`, tensor] as const)
    )
    await writeFile(at('names.json'), JSON.stringify(Object.fromEntries([...tensors.keys()].map((name) => [`net_${name}`, name]))))
    const out = at('ours.safetensors')
    const import_ = ['import', at('theirs.safetensors'), '--out', out, '--model', 'mlp', '--data', 'digits']
    expect((await run(import_)).stderr).to.match(/^SHAPE_MISMATCH: .*of the file is not in the model/)
    const { code, stderr } = await run([...import_, '--names', at('names.json'), '--json'])
    expect(code, stderr).to.equal(0)
    expect((await run(['eval', out, '--json'])).lines[0]).to.include({ testAccuracy })

    const head = [...tensors.keys()].at(-1)!.replace(/\.\w+$/, '')
    const five = ['--model', 'mlp', '--input', '1,28,28', '--classes', '5']
    const misfit = await run(['import', file, '--out', out, ...five])
    expect(misfit.stderr).to.match(/^SHAPE_MISMATCH: .*and \[5/)
    const { lines } = await run(['import', file, '--out', out, ...five, '--reinitialise', head, '--json'])
    expect(lines[0]!['initialised']).to.have.members([`${head}.weight`, `${head}.bias`])
  })

  it('refuses shapes that no model of the zoo takes', async () => {
    const module = at('own-model.mjs')
    await writeFile(module, `export default { name: 'own', input: [1, 28, 28], layers: [] }\n`)
    for (const [flags, said] of [
      [['--input', '3x32x32'], /^INVALID_OPTION: --input: received "3x32x32"; .*--model/],
      [['--classes', '5'], /^INVALID_OPTION: --classes: received "5"; .*--model/],
      [['--classes', '5', '--model', module], /^INVALID_OPTION: --classes: received "5"; .*module/]
    ] as const)
      expect((await run(['eval', file, ...flags])).stderr).to.match(said)
  })

  it('takes mean and std where a file does not say them, and says where nobody does', async () => {
    const { tensors } = await readSafetensors(file)
    await writeSafetensors(at('bare.safetensors'), tensors)
    const shape = ['--model', 'mlp', '--input', '1,28,28', '--classes', '10']
    const [mean, std] = [data.mean, data.std].map(String) as [string, string]
    const predicted = async (...args: string[]) => {
      const { lines, stderr } = await run(['predict', ...args, '--json'])
      return { classes: lines[0]!['classes'], stderr }
    }
    const wanted = await predicted(file, at('one.png'))
    expect(await predicted(at('bare.safetensors'), at('one.png'), ...shape, '--mean', mean, '--std', std)).to.deep.equal(wanted)
    const bare = await predicted(at('bare.safetensors'), at('one.png'), ...shape)
    expect(bare.classes).to.not.deep.equal(wanted.classes)
    expect(bare.stderr).to.match(/^warning: .*bare\.safetensors: .*mlp.*mean and std/)
    for (const [flags, said] of [
      [['--mean', '0.5'], /^INVALID_OPTION: --mean: .*together/],
      [['--mean', '0.5', '--std', '0'], /^INVALID_OPTION: --std: .*above 0/],
      [['--mean', '0.5', '--std', '1,1'], /^INVALID_OPTION: --std: .*give 1/]
    ] as const)
      expect((await run(['predict', at('bare.safetensors'), at('one.png'), ...shape, ...flags])).stderr).to.match(said)
  })

  it('refuses other ones for a file that says them', async () => {
    const flags = { mean: [data.mean[0]!], std: [data.std[0]!], strict: true }
    expect(await readingOptions(file, flags)).to.deep.include({ normalisation: { mean: flags.mean, std: flags.std } })
    await refused('INVALID_OPTION', () => readingOptions(file, { ...flags, mean: [0.5] }), '--mean: received "0.5"; leave it out', file)
  })

  it('measures a Hugging Face folder on data by its name, from which it takes names of classes', async () => {
    const form = { layers: 1, heads: 1, width: 4, inner: 4, patch: 14, tanh: false, epsilon: 1e-6, dropout: 0 }
    const saved = savedOf(vitOfForm('vit', { input: [1, 28, 28], classes: 10 }, form))
    await saveModel(at('vit/'), saved)
    const { code, lines, stderr } = await run(['eval', at('vit'), '--data', 'digits', '--json'])
    expect(code, stderr).to.equal(0)
    const wanted = await (await loadModel(saved)).evaluate(data)
    expect(lines[0]).to.include({ model: 'vit', data: 'digits', samples: 2000, testLoss: wanted.testLoss })
    const { classNames } = await readModel(at('vit'), await readingOptions(at('vit'), { data: 'digits', strict: true }))
    expect(classNames).to.deep.equal(data.classNames)
    const other = () => readingOptions(at('vit'), { mean: [0.5], std: [0.5], strict: true })
    await refused('INVALID_OPTION', other, '--mean: received "0.5"; leave it out, and --std', at('vit'))
  })

  it('tells the outputs of a model that has no classes', async () => {
    const model = defineModel({ name: 'brightness', input: [1, 28, 28], loss: 'meanSquaredError', layers: [globalAvgPool(), linear(2)] })
    const weights = {
      'linear1.weight': { shape: [2, 1], data: Float32Array.of(0, 0) },
      'linear1.bias': { shape: [2], data: Float32Array.of(0.5, -3) }
    }
    await saveModel(at('brightness.safetensors'), { model, weights, statistics: {}, normalisation: { mean: [], std: [] } })
    const predicted = (...flags: string[]) => run(['predict', at('brightness.safetensors'), at('one.png'), ...flags])
    const { stdout, stderr } = await predicted()
    expect(stdout, stderr).to.equal(`${at('one.png')}: 0.5, -3\n`)
    expect((await predicted('--json')).lines).to.deep.equal([{ file: at('one.png'), outputs: [0.5, -3] }])
  })

  it('lets no name in a file steer the terminal', async () => {
    const { tensors } = await readSafetensors(file)
    const steering = 'x\u001b]0;mine\u0007\u009b2J\u202e'
    const told = /x\\u\{1b\}\]0;mine\\u\{7\}\\u\{9b\}2J\\u\{202e\}/
    const sound = (text: string) =>
      expect(text)
        .to.match(told)
        .and.not.match(/(?!\n)[\p{Cc}\p{Bidi_Control}]/u)
    const stranger = { shape: [1], data: new Float32Array(1) }
    await writeSafetensors(at('steering.safetensors'), [...tensors, [steering, stranger] as const])
    const import_ = ['import', at('steering.safetensors'), '--out', at('new.safetensors'), '--model', 'mlp', '--data', 'digits']
    sound((await run(import_)).stderr)
    sound((await run([...import_, '--no-strict'])).stdout)
    const { metadata } = await readSafetensors(file)
    const classes = JSON.stringify(Array.from({ length: 10 }, () => steering))
    await writeSafetensors(at('classes.safetensors'), tensors, { metadata: { ...metadata, classes } })
    sound((await run(['predict', at('classes.safetensors'), at('one.png')])).stdout)
  })

  it('begins a training with a file, and says what does not fit before it begins', async () => {
    const flags = [
      'train',
      '--model',
      'mlp',
      '--learners',
      '1',
      '--batch',
      '8',
      '--steps',
      '1',
      '--lr',
      '1e-9',
      '--initial-weights',
      file,
      '--json'
    ]
    const { lines, stderr } = await run(flags)
    expect(Number(lines.at(-1)!['testAccuracy']), stderr).to.equal(testAccuracy)
    const other = await run([...flags, '--model', 'lenet'])
    expect(other.stderr).to.match(/^SHAPE_MISMATCH: .*--reinitialise/)
    expect(other.lines.map(({ event }) => event)).to.deep.equal(['failed'])
    expect((await run([...flags, '--initial-weights', 'nowhere'])).stderr).to.match(
      /^INVALID_OPTION: --initial-weights: received "nowhere"/
    )
  })
})
