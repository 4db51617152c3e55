import { expect } from 'chai'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gpt, parameterCount } from '../../src/index.js'
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
    expect(stdout).to.match(/^weights +1\.7 +3\.[34]$/m)
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
    [['lenet', '--layers', '2'], /^INVALID_OPTION: --layers: received 2; leave it out: only model gpt has it/],
    [['gpt', '--heads', '3'], /^INVALID_OPTION: --width: received 128; use a multiple of the 3 heads/],
    [['gpt', '--width', '30'], /^INVALID_OPTION: --width: received 30; use a multiple of the 4 heads/],
    [['gpt', '--layers', '1001'], /^INVALID_OPTION: --layers: received 1001; use a whole number from 1 to 1000/],
    [['lenett'], /^UNKNOWN_NAME: model: received "lenett"; use one of .*lenet/],
    [['lenet', '--input', '3x'], /^INVALID_OPTION: --input: received "3x"; use sizes joined by x/],
    [['lenet', '--batch', '0'], /^INVALID_OPTION: --batch: received 0; /],
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
