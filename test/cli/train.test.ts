import { expect } from 'chai'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run, start } from './support/arbalest.js'
import { FewDigits } from './support/few-digits.js'
import { ifSeldom } from '../support/seldom.js'

const few = await FewDigits.make()
after(() => few[Symbol.asyncDispose]())

const TINY = ['train', '--model', 'mlp', ...few.flags, '--learners', '2', '--batch', '8']
const ENDLESS = [...TINY, '--steps', '100000000', '--evaluate-every', '100000']

describe('arbalest train', () => {
  it('writes one JSON object a line and nothing else, the last of them `finished`', async () => {
    const { code, lines, stderr } = await run([...TINY, '--steps', '5', '--seed', '7', '--json'])
    expect(code, stderr).to.equal(0)
    expect(stderr).to.equal('')
    expect(lines[0]).to.include({ event: 'started', model: 'mlp', data: 'mnist', learners: 2, batch: 8, iterations: 5, seed: 7 })
    expect(lines.map(({ event }) => event)).to.include.members(['progress', 'evaluated'])
    const last = lines.at(-1)!
    expect(last).to.include({ event: 'finished', reason: 'completed', learners: 2, iterations: 5 })
    for (const key of ['testAccuracy', 'testLoss', 'imagesPerSecond', 'epochs', 'seconds']) expect(last[key], key).to.be.a('number')
    expect(last['weightsSha256']).to.match(/^[0-9a-f]{64}$/)
  })

  it('ends with the same weights for the same seed, and with others for another', async () => {
    const weights = async (seed: string) => (await run([...TINY, '--steps', '5', '--seed', seed, '--json'])).lines.at(-1)!['weightsSha256']
    const [first, second, third] = [await weights('7'), await weights('7'), await weights('8')]
    expect(first).to.be.a('string').and.equal(second)
    expect(third).to.be.a('string').and.not.equal(first)
  })

  it('writes few plain lines where stdout is no terminal', async () => {
    const { code, stdout, stderr } = await run([...TINY, '--epochs', '2'])
    expect(code, stderr).to.equal(0)
    expect(stdout)
      .to.match(/^mlp on mnist: /)
      .and.match(/test accuracy \d+\.\d\d%/)
      .and.match(/weights sha256 [0-9a-f]{64}\n$/)
    expect(stdout).to.not.include('\x1b').and.not.include('\r')
    expect(stdout.trimEnd().split('\n').length).to.be.at.most(30)
  })

  it('says of a run that had come to its end that nothing is left to train, and which flag lets it go on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arbalest-complete-'))
    try {
      const train = (...more: string[]) => run([...TINY, '--checkpoint-dir', join(folder, 'kept'), '--lr-schedule', 'constant', ...more])
      expect((await train('--steps', '5')).stdout).to.not.include('nothing is left')
      const again = await train('--steps', '5')
      expect(again.code, again.stderr).to.equal(0)
      expect(again.stdout).to.match(
        /^resumed at iteration 5 from .*: nothing is left to train\. Give more --epochs or --steps than before to go on/m
      )
      expect((await train('--steps', '8')).stdout).to.match(/^resumed at iteration 5 from \S+$/m)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('saves the model in the end, and says before the first step where it cannot', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arbalest-save-'))
    try {
      const file = join(folder, 'model.safetensors')
      const { code, stdout, stderr } = await run([...TINY, '--steps', '5', '--save', file])
      expect(code, stderr).to.equal(0)
      expect(stdout.trimEnd()).to.match(new RegExp(`model in ${file}$`))
      const measured = await run(['eval', file, ...few.flags, '--json'])
      const [accuracy] = /\d+\.\d\d(?=%)/.exec(stdout.split('\n').findLast((line) => line.startsWith('finished'))!)!
      expect((100 * Number(measured.lines.at(-1)!['testAccuracy'])).toFixed(2)).to.equal(accuracy)
      const kept = await readFile(file)
      const dry = await run([...TINY, '--dry-run', '--save', file])
      expect([dry.code, dry.stdout]).to.deep.equal([2, ''])
      expect(dry.stderr).to.match(/^INVALID_OPTION: --save: .*a dry run/)
      expect(await readFile(file)).to.deep.equal(kept)
      for (const [bad, said] of [
        [join(folder, 'model.bin'), /^INVALID_OPTION: .*\.onnx or \.safetensors/],
        [join(folder, 'missing', 'model.onnx'), /^WRITE_FAILED: .*missing/]
      ] as const) {
        const refused = await run([...ENDLESS, '--save', bad])
        expect(refused.stderr).to.match(said)
        expect(refused.stdout).to.equal('')
      }
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('says before the first step that a model has no form in the format that it is to be saved in', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arbalest-save-'))
    try {
      const config = join(folder, 'even.ts')
      const layers = '[localResponseNorm(4), flatten(), linear(10)]'
      await writeFile(
        config,
        `import { defineModel, flatten, linear, localResponseNorm } from 'arbalest'
         export default { model: defineModel({ name: 'even', input: [1, 28, 28], layers: ${layers} }), data: 'digits', until: { steps: 1e8 } }`
      )
      const refused = await run(['train', config, '--save', join(folder, 'model.onnx')])
      expect(refused.stderr).to.match(/^UNSUPPORTED_OPERATOR: .*odd sizes/)
      expect(refused.stdout).to.equal('')
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('says what went wrong in one line, with status 1, and in JSON last', async () => {
    const args = ['train', '--model', 'mlp', '--data', 'mnist', '--data-dir', '/nowhere', '--json']
    const { code, lines, stderr } = await run(args)
    expect(code).to.equal(1)
    expect(stderr).to.match(/^DATA_NOT_FOUND: .*\/nowhere.*\n$/)
    expect(lines.at(-1)).to.include({ event: 'failed', code: 'DATA_NOT_FOUND' })
    expect(stderr).to.equal(`DATA_NOT_FOUND: ${String(lines.at(-1)!['message'])}\n`)
  })

  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ...ifSeldom(['SIGHUP', 129] as const, ['SIGQUIT', 131] as const)
  ] as const) {
    it(`stops cleanly on ${signal}, with its last line and status ${status}`, async () => {
      const { child, ended, said } = start([...ENDLESS, '--json'])
      await said('"progress"')
      child.kill(signal)
      const { code, lines, stderr } = await ended
      expect(code, stderr).to.equal(status)
      expect(lines.at(-1)).to.include({ event: 'finished', reason: 'stopped' })
    })
  }

  it('says whether a few batches were overfitted, also by its status', async () => {
    const by = (...flags: string[]) => run(['train', '--model', 'mlp', ...few.flags, '--learners', '1', '--overfit', '2', ...flags])
    const learnt = await by('--steps', '200')
    expect(learnt.code, learnt.stderr).to.equal(0)
    expect(learnt.stdout).to.match(/the loss collapsed from 2\.\d+ to 0\.0\d+: the model can learn these samples\n$/)
    const not = await by('--steps', '5', '--lr', '1e-6')
    expect(not.code, not.stderr).to.equal(1)
    expect(not.stdout).to.match(/the loss did not collapse: 2\.\d+ to 2\.\d+; check learning rate/)
    const dry = await by('--dry-run')
    expect(dry.code, dry.stderr).to.equal(0)
    expect(dry.stdout).to.include('finished').and.not.include('collapse')
  })

  it('stops where nobody reads its output any more', async () => {
    const { child, ended, said } = start([...ENDLESS, '--json'])
    await said('"started"')
    child.stdout!.destroy()
    const { code, stderr } = await ended
    expect(code, stderr).to.equal(141)
    expect(stderr).to.equal('')
  })

  describe('with a config', () => {
    let folder: string
    const config = async (name: string, text: string) => {
      const path = join(folder, name)
      await writeFile(path, text)
      return path
    }

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'arbalest config '))
    })
    afterEach(() => rm(folder, { recursive: true }))

    it('takes the options from a TypeScript module, which may import the package, and flags over them', async () => {
      const path = await config(
        'run.ts',
        `import { defineModel, flatten, linear, type TrainOptions } from 'arbalest'
         const model = defineModel({ name: 'own', input: [1, 28, 28], layers: [flatten(), linear(10)] })
         const options: TrainOptions = { model, batch: 4, learners: 1, optimiser: { learningRate: 0.5, momentum: 0 }, until: { steps: 3 } }
         export default options`
      )
      const { code, lines, stderr } = await run(['train', path, ...few.flags, '--batch', '6', '--lr', '0.25', '--json'])
      expect(code, stderr).to.equal(0)
      expect(lines[0]).to.include({ event: 'started', model: 'own', batch: 6, learners: 1, iterations: 3, parameters: 7850 })
      expect(lines.find(({ event }) => event === 'progress')!['learningRate']).to.be.at.most(0.25)
    })

    it('takes one that was compiled to CommonJS', async () => {
      const compiled = `Object.defineProperty(exports, '__esModule', { value: true }); exports.default = { batch: -3 }`
      const { stderr } = await run(['train', await config('compiled.cjs', compiled)])
      expect(stderr).to.match(/^INVALID_OPTION: batch: received -3; .* \(.*compiled\.cjs\)\n$/)
    })

    it('finds arbalest.config.ts in the working folder, and leaves it alone where it is told to', async () => {
      const path = await config(
        'arbalest.config.ts',
        `import { defineConfig } from 'arbalest'
         export default defineConfig(async () => ({ model: 'mlp', batch: 4, learners: 1, until: { steps: 2 }, seed: 5 }))`
      )
      const cwd = join(path, '..')
      const found = await run(['train', ...few.flags, '--seed', '6', '--json'], { cwd })
      expect(found.lines[0], found.stderr).to.include({ model: 'mlp', batch: 4, learners: 1, iterations: 2, seed: 6 })
      expect((await run(['train', ...few.flags], { cwd })).stdout).to.match(/^options from arbalest\.config\.ts\n/)
      const without = await run(['train', '--no-config', ...TINY.slice(1), '--steps', '1', '--json'], { cwd })
      expect(without.lines[0], without.stderr).to.include({ batch: 8, learners: 2, seed: 1 })
      const other = await config('other.mjs', 'export default { model: "mlp", learners: 1, batch: 3, until: { steps: 1 } }')
      expect((await run(['train', '--config', other, ...few.flags, '--json'], { cwd })).lines[0]).to.include({ batch: 3, iterations: 1 })
      expect((await run(['train', other, '--config', other], { cwd })).stderr).to.match(/^INVALID_OPTION: config: .*name one config/)
    })

    it('tells every fault of it at once, with its path and file, beside those of flags', async () => {
      await config(
        'arbalest.config.ts',
        `export default { model: 'mlp', optimiser: { learningRate: -1, speed: 2 }, batch: 0, until: { steps: 0 } }`
      )
      const { code, stderr } = await run(['train', '--batch', '-3'], { cwd: folder })
      expect(code).to.equal(2)
      const [first, ...lines] = stderr.trimEnd().split('\n')
      expect(first).to.match(/^INVALID_OPTION: 4 options/)
      expect(lines).to.have.members([
        '  optimiser.learningRate: received -1; use a number above 0 (arbalest.config.ts)',
        '  optimiser.speed: received 2; use only name, learningRate, schedule, warmup, milestones, gamma, momentum, nesterov, weightDecay, beta1, beta2, epsilon, trustCoefficient, clipNorm, clipValue, groups, accumulate (arbalest.config.ts)',
        '  until.steps: received 0; use a whole number of at least 1 (arbalest.config.ts)',
        '  --batch: received -3; use a whole number from 1 to 1048576'
      ])
    })

    for (const [what, text, complaint] of [
      ['has no default export', `export const batch = 4`, /^INVALID_OPTION: config: .*no default export/],
      [
        'exports a function without an answer',
        `export default () => { batch: 4 }`,
        /^INVALID_OPTION: config: .*; the function that it exports returns nothing; return an object: \(\) => \(\{ \.\.\. \}\), or /
      ],
      ['exports something else', `export default 7`, /^INVALID_OPTION: config: .*number/],
      ['cannot be read', `export default {`, /^INVALID_OPTION: config: .*cannot be loaded/],
      ['has a slip of the pen', `export default { learner: 2 }`, /^INVALID_OPTION: learner: received 2; .* \(.*run\.ts\)$/m]
    ] as const) {
      it(`refuses one that ${what}`, async () => {
        const { code, stderr } = await run(['train', await config('run.ts', text)])
        expect(code, stderr).to.equal(2)
        expect(stderr).to.match(complaint)
        expect(stderr.trimEnd()).to.not.include('\n')
      })
    }
  })
})
