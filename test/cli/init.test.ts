import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import { Folder } from '../data/support/files.js'
import { run } from './support/arbalest.js'

describe('arbalest init', function () {
  this.timeout(120_000)
  let folder: Folder
  beforeEach(async () => {
    folder = await Folder.make()
  })
  afterEach(() => folder[Symbol.asyncDispose]())
  const here = (...args: string[]) => run(args, { cwd: folder.path })

  /** Deletes the `//` before all options but the file of weights, which is not there. */
  async function uncomment(file: string): Promise<void> {
    const path = join(folder.path, file)
    const config = await readFile(path, 'utf8')
    const all = config.replaceAll(/^( *)\/\/ (?!initialWeights)(\w+: ['\d{[].*)$/gm, '$1$2')
    expect(all).to.match(/^ {4}patience: 3$/m)
    await writeFile(path, all)
  }

  for (const [flags, file] of [
    [[], 'arbalest.config.ts'],
    [['--js'], 'arbalest.config.mjs']
  ] as const)
    it(`writes ${file} into an empty folder, with which a training runs`, async () => {
      const { code, stdout, stderr } = await here('init', ...flags, '--model', 'mlp')
      expect(code, stderr).to.equal(0)
      expect(stdout).to.include(file).and.include('--dry-run')
      expect(await readdir(folder.path)).to.deep.equal([file])
      if (file.endsWith('.mjs')) await uncomment(file)
      const dry = await here('train', '--dry-run', '--learners', '1', '--json')
      expect(dry.code, dry.stderr).to.equal(0)
      expect(dry.lines.find(({ event }) => event === 'started')).to.include({ model: 'mlp', data: 'digits', seed: 1 })
      // A dry run leaves nothing behind.
      expect(await readdir(folder.path)).to.deep.equal([file])
    })

  it('never writes over a config, unless it is told to', async () => {
    const path = join(folder.path, 'arbalest.config.ts')
    await writeFile(path, 'mine')
    expect((await here('init')).stderr).to.match(/^INVALID_OPTION: init: arbalest\.config\.ts exists already; use --force/)
    expect((await here('init', '--js', '--force')).stderr).to.match(/^INVALID_OPTION: init: arbalest\.config\.ts exists already; remove it/)
    expect(await readFile(path, 'utf8')).to.equal('mine')
    expect(await here('init', '--force')).to.include({ code: 0 })
    expect(await readFile(path, 'utf8')).to.match(/^import \{ defineConfig \} from 'arbalest'/)
  })

  const written = () => readFile(join(folder.path, 'arbalest.config.ts'), 'utf8')

  for (const flags of [
    ['--model', 'gpt', '--data', 'tinyshakespeare'],
    ['--model', 'gpt']
  ])
    it(`takes a text, with \`${flags.join(' ')}\``, async () => {
      const { code, stderr } = await here('init', ...flags)
      expect(code, stderr).to.equal(0)
      expect(await written())
        .to.include('data: "tinyshakespeare"')
        .and.include('// context: 128,')
      await writeFile(join(folder.path, 'input.txt'), 'abcabcabd '.repeat(400))
      const dry = await here('train', '--dry-run', '--learners', '1', '--context', '8', '--data-dir', '.', '--json')
      expect(dry.code, dry.stderr).to.equal(0)
      expect(dry.lines.find(({ event }) => event === 'started')).to.include({ model: 'gpt', data: 'tinyshakespeare' })
    })

  it('takes a folder of images', async () => {
    for (const [i, flower] of ['daisy', 'rose'].entries()) {
      await mkdir(join(folder.path, 'flowers', flower), { recursive: true })
      for (let n = 0; n < 4; n++)
        await sharp({ create: { width: 8, height: 8, channels: 3, background: { r: 200 * i, g: 10 * n, b: 0 } } })
          .png()
          .toFile(join(folder.path, 'flowers', flower, `${n}.png`))
    }
    const { code, stderr } = await here('init', '--model', 'logistic-regression', '--data', './flowers')
    expect(code, stderr).to.equal(0)
    expect(await written())
      .to.include('data: "./flowers"')
      .and.include('// images: { size: 28 },')
    const dry = await here('train', '--dry-run', '--learners', '1', '--batch', '2', '--image-size', '8', '--json')
    expect(dry.code, dry.stderr).to.equal(0)
    expect(dry.lines.find(({ event }) => event === 'started')).to.include({ samples: 6 })
  })

  it('takes a folder of texts', async () => {
    for (const opinion of ['good', 'bad']) {
      await mkdir(join(folder.path, 'reviews', opinion), { recursive: true })
      for (let n = 0; n < 3; n++) await writeFile(join(folder.path, 'reviews', opinion, `${n}.txt`), `${opinion} ${n}`)
    }
    expect(await here('init', '--model', 'text-classifier', '--data', './reviews')).to.include({ code: 0 })
    await uncomment('arbalest.config.ts')
    const dry = await here('train', '--dry-run', '--learners', '1', '--batch', '2', '--json')
    expect(dry.code, dry.stderr).to.equal(0)
  })

  it("has the model's own numbers", async () => {
    expect(await here('init', '--model', 'resnet20', '--data', 'cifar-10')).to.include({ code: 0 })
    expect(await written())
      .to.match(/^ {4}epochs: 30,$/m)
      .and.include('// batch: 32,')
      .and.include('// learningRate: 0.1,')
      .and.include("// schedule: 'one-cycle'")
      .and.not.include('milestones')
    expect(await here('init', '--force')).to.include({ code: 0 })
    expect(await written())
      .to.match(/^ {4}epochs: 4,$/m)
      .and.include('// batch: 32,')
      .and.include('// learningRate: 0.02,')
      .and.include('// milestones: [3],')
  })

  it('refuses names that do not exist', async () => {
    expect((await here('init', '--model', 'lenett')).stderr).to.match(/^UNKNOWN_NAME: --model: received "lenett"; use one of .*lenet/)
    expect((await here('init', '--data', 'nmist')).stderr).to.match(/^UNKNOWN_NAME: --data: received "nmist"; use one of .*tinyshakespeare/)
    expect((await here('init', '--data', 'x'.repeat(300))).stderr).to.match(/^UNKNOWN_NAME: --data: received /)
    expect((await here('init', '--data', 'houses.csv')).stderr).to.match(
      /^INVALID_OPTION: --data: received "houses\.csv"; .*arbalest train --data FILE/
    )
    expect(await readdir(folder.path)).to.deep.equal([])
  })

  it('refuses data whose samples the model does not take', async () => {
    for (const model of ['alexnet', 'text-classifier', 'inception_v3']) {
      const { code, stderr } = await here('init', '--model', model)
      expect(code).to.equal(2)
      expect(stderr).to.include(`--data: received "digits"; its samples are 1 x 28 x 28, which model ${model} does not take`)
    }
    expect(await readdir(folder.path)).to.deep.equal([])
    expect(await here('init', '--model', 'alexnet', '--data', '.')).to.include({ code: 0 })
  })
})
