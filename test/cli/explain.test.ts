import { expect } from 'chai'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gpt, parameterCount, type Prediction } from '../../src/index.js'
import { Folder } from '../data/support/files.js'
import { run } from './support/arbalest.js'

describe('arbalest explain', function () {
  this.timeout(60_000)

  it('shows a table of layers, the floor and the memory', async () => {
    const { code, stdout, stderr } = await run(['explain', 'lenet', '--batch', '8', '--learners', '2', '--gflops', '100', '--gbs', '10'])
    expect(code, stderr).to.equal(0)
    const lines = stdout.split('\n')
    expect(lines[0]).to.equal('lenet: 431,080 parameters; a step takes 8 samples of 1x28x28, in f32 on backend cpu')
    expect(lines.filter((line) => /^fc1 +linear \+ relu +500 /.test(line))).to.have.length(1)
    expect(stdout).to.match(/^Time floor: +[\d.]+ ms, at most [\d,]+ samples\/s a learner/m)
    expect(stdout).to.match(/at 100\.0 GFLOP\/s, assumed, and 10\.00 GB\/s, assumed/)
    expect(stdout).to.match(/^Device memory: +[\d.]+ MiB beside the samples, and at least [\d.]+ MiB with --device-memory$/m)
    // 431,080 numbers, and what layouts of oneDNN add where it runs the convolutions.
    expect(stdout).to.match(/^weights +1\.[67] +3\.[34]$/m)
    expect(stdout).to.match(/^Operators' outputs: [\d.]+ MiB, which share [\d.]+ MiB: [\d.]+% saved/m)
  })

  it('gives figures to programs', async () => {
    const { code, lines } = await run([
      'explain',
      'resnet50',
      '--batch',
      '32',
      '--input',
      '3x224x224',
      '--json',
      '--gflops',
      '100',
      '--gbs',
      '10'
    ])
    expect(code).to.equal(0)
    const [told] = lines as [Record<string, number> & { event: string; operators: unknown[] }]
    expect(told.event).to.equal('explained')
    expect(told['bytesPlanned']! / 2 ** 20).to.be.at.most(6_316)
    expect(told['saving']).to.equal(1 - told['bytesPlanned']! / told['bytesUnshared']!)
    expect(told['flops']! / 32 / 1e6).to.be.closeTo(24_600, 300)
    expect(told.operators.length).to.be.above(200)
  })

  it('reads a config', async () => {
    await using folder = await Folder.make()
    const config = join(folder.path, 'mine.mjs')
    writeFileSync(config, `export default { model: 'mlp', batch: 4, learners: 3 }`)
    const { code, lines, stderr } = await run(['explain', config, '--json', '--batch', '6'])
    expect(code, stderr).to.equal(0)
    expect(lines[0]).to.include({ model: 'mlp', batch: 6, learners: 3 })
  })

  for (const [data, flags, shapes] of [
    [`'cifar-100'`, [], { input: [3, 32, 32], parameters: 11_227_812 }],
    [`'cifar-100'`, ['--classes', '10', '--input', '3x64x64'], { input: [3, 64, 64], parameters: 11_181_642 }],
    [`{ sample: [3, 40, 40], classes: 7 }`, [], { input: [3, 40, 40], parameters: 11_180_103 }],
    [`'./photos'`, [], { input: [3, 224, 224] }],
    [`null`, [], { input: [3, 224, 224] }]
  ] as const)
    it(`explains a model of the zoo for the data of a config: ${[data, ...flags].join(' ')}`, async () => {
      await using folder = await Folder.make()
      const config = join(folder.path, 'mine.mjs')
      writeFileSync(config, `export default { model: 'resnet18', batch: 2, data: ${data} }`)
      const { code, lines, stderr } = await run(['explain', config, '--gflops', '100', '--gbs', '10', '--json', ...flags])
      expect(code, stderr).to.equal(0)
      expect(lines[0]).to.deep.include(shapes)
    })

  for (const learners of [`'auto'`, `{ initial: 2, max: 4 }`, `{ schedule: [{ round: 0, learners: 2 }] }`])
    it(`explains one learner where a config leaves their number open: ${learners}`, async () => {
      await using folder = await Folder.make()
      const config = join(folder.path, 'mine.mjs')
      writeFileSync(config, `export default { model: 'mlp', batch: 4, learners: ${learners} }`)
      const { code, lines, stderr } = await run(['explain', config, '--json'])
      expect(code, stderr).to.equal(0)
      expect(lines[0]).to.include({ model: 'mlp', learners: 1 })
    })

  const CLUSTER = ['--hosts', '128', '--gpus', '8', '--link', '100Gbit', '--oversubscription', '4']

  it('predicts a step on many machines', async () => {
    const { code, stdout, stderr } = await run(['explain', 'lenet', ...CLUSTER])
    expect(code, stderr).to.equal(0)
    expect(stdout).to.match(/^lenet: 431,080 parameters, 1,024 learners of batch \d+ on 128 hosts of 8 GPUs\nA model of the machines: /)
    for (const mode of ['sharded', 'ring', 'rack-ring', 'racks']) expect(stdout).to.match(new RegExp(`^${mode} +[\\d.]+ +[\\d.]+%`, 'm'))
    expect(stdout).to.match(/^Best: +[a-z-]+: [\d.]+ ms a step, [\d,]+ samples\/s, [\d.]+% of what computing alone allows$/m)
  })

  it('gives the prediction to programs, with the options of a config for a run on hosts', async () => {
    await using folder = await Folder.make()
    const config = join(folder.path, 'mine.mjs')
    writeFileSync(config, `export default { model: 'mlp', batch: 4, hosts: 'auto', learners: 3, deviceMemory: '1GiB', spill: '/var/tmp' }`)
    const { code, lines, stderr } = await run(['explain', config, ...CLUSTER, '--hub', '400Gbit', '--json'])
    expect(code, stderr).to.equal(0)
    const told = lines[0] as unknown as Prediction & { readonly event: string }
    expect(told).to.include({ event: 'predicted', model: true, name: 'mlp', hosts: 128, gpus: 8, learners: 1024, batch: 4 })
    expect(told.modes.map(({ stepMilliseconds }) => stepMilliseconds)).to.deep.equal(
      told.modes.map(({ stepMilliseconds }) => stepMilliseconds).toSorted((a, b) => a - b)
    )
    expect(told.modes[0]).to.deep.include({ mode: told.mode, stepMilliseconds: told.stepMilliseconds, exchangeHidden: told.exchangeHidden })
    expect(told.modes.map(({ mode }) => mode)).to.include('hub')
  })

  it('sizes a gpt', async () => {
    const { code, lines, stderr } = await run([
      'explain',
      'gpt',
      '--input',
      '16',
      '--layers',
      '2',
      '--heads',
      '3',
      '--width',
      '24',
      '--json'
    ])
    expect(code, stderr).to.equal(0)
    const size = { layers: 2, heads: 3, width: 24 }
    expect(lines[0]).to.include({ model: 'gpt', parameters: parameterCount(gpt({ input: [16], classes: 65 }, size)) })
  })

  for (const [args, complaint] of [
    [
      ['lenet', '--layers', '2'],
      /^INVALID_OPTION: --layers: received 2; leave it out: only model gpt, lstm, gru, text-classifier, vit-tiny, vit-small, vit-base has it/
    ],
    [['lstm', '--heads', '2'], /^INVALID_OPTION: --heads: received 2; use only layers, width, dropout/],
    [
      ['lenet', '--heads', '2'],
      /^INVALID_OPTION: --heads: received 2; leave it out: only model gpt, text-classifier, vit-tiny, vit-small, vit-base has it/
    ],
    [['gpt', '--heads', '3'], /^INVALID_OPTION: --width: received 128; use a multiple of the 3 heads/],
    [['gpt', '--width', '30'], /^INVALID_OPTION: --width: received 30; use a multiple of the 4 heads/],
    [['gpt', '--layers', '1001'], /^INVALID_OPTION: --layers: received 1001; use a whole number from 1 to 1000/],
    [['lenett'], /^UNKNOWN_NAME: model: received "lenett"; use one of .*lenet/],
    [['lenet', '--input', '3x'], /^INVALID_OPTION: --input: received "3x"; use sizes joined by x/],
    [['lenet', '--batch', '0'], /^INVALID_OPTION: --batch: received 0; /],
    [['lenet', '--hosts', '4', '--link', 'fast'], /^INVALID_OPTION: --link: received "fast"; use a rate in bits a second, such as 200Mbit/],
    [['lenet', '--hosts', '4', '--oversubscription', '0'], /^INVALID_OPTION: --oversubscription: received 0; /],
    [['lenet', '--gpus', '4'], /^INVALID_OPTION: --gpus: received it without --hosts; /],
    [['lenet', '--hosts', '4', '--learners', '3'], /^INVALID_OPTION: --learners: received it with --hosts; /],
    [['lenet', '--hosts', '4', '--spill', '/var/tmp'], /^INVALID_OPTION: --spill: received it with --hosts; /],
    [['lenet', '--hosts', '4', '--plot', 'a.svg'], /^INVALID_OPTION: --plot: received it with --hosts; /],
    [[], /^INVALID_OPTION: missing required argument/],
    [['./nowhere.ts'], /^INVALID_OPTION: config: received ".\/nowhere.ts"; there is no such file/]
  ] as const)
    it(`refuses \`arbalest ${['explain', ...args].join(' ')}\``, async () => {
      const { code, stdout, stderr } = await run(['explain', ...args])
      expect(code).to.equal(2)
      expect(stderr).to.match(complaint)
      expect(stdout).to.equal('')
    })
})
