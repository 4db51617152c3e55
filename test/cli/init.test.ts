import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
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

  for (const [flags, file] of [
    [[], 'arbalest.config.ts'],
    [['--js'], 'arbalest.config.mjs']
  ] as const)
    it(`writes ${file} into an empty folder, with which a training runs`, async () => {
      const { code, stdout, stderr } = await here('init', ...flags, '--model', 'mlp')
      expect(code, stderr).to.equal(0)
      expect(stdout).to.include(file).and.include('--dry-run')
      expect(await readdir(folder.path)).to.deep.equal([file])
      const dry = await here('train', '--dry-run', '--learners', '1', '--json')
      expect(dry.code, dry.stderr).to.equal(0)
      expect(dry.lines.find(({ event }) => event === 'started')).to.include({ model: 'mlp', data: 'digits', seed: 1 })
      // A dry run leaves nothing behind.
      expect(await readdir(folder.path)).to.deep.equal([file])
    })

  it('never writes over a config, unless it is told to', async () => {
    const path = join(folder.path, 'arbalest.config.ts')
    await writeFile(path, 'mine')
    expect((await here('init')).stderr).to.match(/^INVALID_OPTION: init: arbalest\.config\.ts is there already; use --force/)
    expect((await here('init', '--js', '--force')).stderr).to.match(
      /^INVALID_OPTION: init: arbalest\.config\.ts is there already; remove it/
    )
    expect(await readFile(path, 'utf8')).to.equal('mine')
    expect(await here('init', '--force')).to.include({ code: 0 })
    expect(await readFile(path, 'utf8')).to.match(/^import \{ defineConfig \} from 'arbalest'/)
  })

  it('refuses names that do not exist', async () => {
    expect((await here('init', '--model', 'lenett')).stderr).to.match(/^UNKNOWN_NAME: --model/)
    expect((await here('init', '--data', 'nmist')).stderr).to.match(/^UNKNOWN_NAME: data/)
    expect(await readdir(folder.path)).to.deep.equal([])
  })
})
