import { expect } from 'chai'
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SavedModelFile } from '../../src/cli/saved-model-file.js'
import { loadModel } from '../../src/index.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'
import { skip } from '../support/skip.js'
import { run, start } from './support/arbalest.js'
import { FewDigits } from './support/few-digits.js'

const few = await FewDigits.make()
after(() => few[Symbol.asyncDispose]())

const TRAIN = ['train', '--model', 'mlp', ...few.flags, '--learners', '1', '--batch', '8']
const ENDLESS = [...TRAIN, '--steps', '100000000', '--seconds', '120', '--evaluate-every', '100000']

/** The path that a failure says the model is in. */
const savedIn = (stderr: string) => /; the model is in (.+)\n/.exec(stderr)?.[1] ?? ''

describe('arbalest train where files cannot be written', function () {
  this.timeout(120_000)
  let folder: Folder
  beforeEach(async () => (folder = await Folder.make()))
  afterEach(() => folder[Symbol.asyncDispose]())

  it('writes the model beside the checkpoints if its file cannot be written at the end, and fails', async () => {
    const [away, kept] = [join(folder.path, 'away'), join(folder.path, 'kept')]
    await mkdir(away)
    const { child, ended, said } = start([...ENDLESS, '--save', join(away, 'model.onnx'), '--checkpoint-dir', kept, '--json'])
    await said('"progress"')
    await rm(away, { recursive: true })
    child.kill('SIGTERM')
    const { code, lines, stderr } = await ended
    expect(code, stderr).to.equal(1)
    expect(lines.at(-2)).to.include({ event: 'finished', reason: 'stopped', checkpoints: 'complete' })
    expect(lines.at(-1)).to.include({ event: 'failed', code: 'WRITE_FAILED' })
    expect(stderr).to.match(/^WRITE_FAILED: .*away\/model\.onnx: it cannot be written \(ENOENT\)/m)
    expect(savedIn(stderr)).to.match(new RegExp(`^${kept}/saved-model-\\w+/model\\.onnx$`))
    expect(existsSync(savedIn(stderr))).to.equal(true)
  })

  it('writes it beside temporary files if there is no other place, and says so if there is none at all', async () => {
    const [away, temporary] = [join(folder.path, 'away'), join(folder.path, 'tmp')]
    for (const lasts of [true, false]) {
      await mkdir(away)
      await mkdir(temporary, { recursive: true })
      const options = { env: { TMPDIR: temporary } }
      const { child, ended, said } = start([...ENDLESS, '--save', join(away, 'model.safetensors'), '--json'], options)
      await said('"progress"')
      await rm(away, { recursive: true })
      if (!lasts) await rm(temporary, { recursive: true })
      child.kill('SIGTERM')
      const { code, stderr } = await ended
      expect(code, stderr).to.equal(1)
      if (lasts) await loadModel(savedIn(stderr))
      else expect(stderr).to.include(`neither can the model be written to ${temporary}`)
    }
  })

  it('goes on where a checkpoint cannot be written, warns once, and ends as incomplete with status 1', async () => {
    const kept = join(folder.path, 'kept')
    const { child, ended, said } = start([...ENDLESS, '--checkpoint-dir', kept, '--checkpoint-period', '50', '--json'])
    await said('"checkpoint"')
    await rm(kept, { recursive: true, maxRetries: 20 })
    await said('"code":"WRITE_FAILED"')
    child.kill('SIGTERM')
    const { code, lines, stderr } = await ended
    expect(code, stderr).to.equal(1)
    expect(lines.at(-1)).to.include({ event: 'finished', reason: 'stopped', checkpoints: 'incomplete' })
    expect(lines.filter((line) => line['code'] === 'WRITE_FAILED').length).to.be.above(1)
    expect(stderr.match(/^warning: no checkpoint of iteration \d+: .*ENOENT.*; the run goes on$/gm), stderr).to.have.length(1)
  })

  it('fails with a job of `crossover` that lacks a checkpoint, however it is stopped', async () => {
    const [kept, config] = [join(folder.path, 'kept'), join(folder.path, 'job.config.mjs')]
    const job = { model: 'mlp', data: 'mnist', dataDir: few.directory, learners: 1, batch: 8, until: { steps: 1e8, seconds: 120 } }
    const checkpoint = { dir: kept, period: 50 }
    await writeFile(config, `export default ${JSON.stringify({ ...job, evaluateEvery: 1e5, checkpoint })}`)
    const other = join(folder.path, 'other.config.mjs')
    await writeFile(other, `export default ${JSON.stringify({ ...job, evaluateEvery: 1e5 })}`)
    const { child, ended, said } = start(['crossover', config, other, '--policy', 'crossed', '--json'])
    await said('"event":"checkpoint"')
    await rm(kept, { recursive: true, maxRetries: 20 })
    await said('"code":"WRITE_FAILED"')
    child.kill('SIGTERM')
    const { code, lines, stderr } = await ended
    expect(lines.find(({ event, job: number }) => event === 'finished' && number === 0)).to.include({ checkpoints: 'incomplete' })
    expect(code, stderr).to.equal(1)
  })

  it('says so in its last line', async () => {
    const kept = join(folder.path, 'kept')
    const { child, ended, said } = start([...ENDLESS, '--checkpoint-dir', kept, '--checkpoint-period', '50'])
    await said('samples;')
    while (!existsSync(kept) || (await readdir(kept)).length < 2) await new Promise((resolve) => setTimeout(resolve, 50))
    await rm(kept, { recursive: true, maxRetries: 20 })
    await said('no checkpoint')
    child.kill('SIGTERM')
    const { code, stdout, stderr } = await ended
    expect(code, stderr).to.equal(1)
    expect(stdout.trimEnd().split('\n').at(-1)).to.equal('incomplete: not every checkpoint could be written')
  })

  it('is refused before training where there is less space than the model needs; not where the space is unknown', async () => {
    const file = await SavedModelFile.at(join(folder.path, 'model.safetensors'), { model: undefined, checkpoints: undefined })
    file.checkSpace({ parameters: 1000 })
    await refused('WRITE_FAILED', () => file.checkSpace({ parameters: 1e15 }), '--save', 'are free there')
    await rm(folder.path, { recursive: true })
    file.checkSpace({ parameters: 1e15 })
  })

  it('goes on without a log and curves for which there is no room, and says so in a sentence with the path', async () => {
    const tensorboard = join(folder.path, 'curves')
    const { code, stderr } = await run([...TRAIN, '--steps', '20', '--log', '/dev/full', '--tensorboard', tensorboard])
    expect(code, stderr).to.equal(0)
    expect(stderr).to.match(
      /^warning: a run's record is written no further: \/dev\/full: the disk is full \(ENOSPC\): it needs \d+ bytes, .*; the run goes on, and what is there stays$/m
    )
    expect(stderr.trimEnd().split('\n')).to.have.length(1)
  })

  describe('on a disk of its own', () => {
    let disk: string
    beforeEach(async function () {
      disk = join(folder.path, 'disk')
      await mkdir(disk)
      if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk]).status !== 0)
        skip(this, 'this user may not mount file systems')
    })
    afterEach(() => void spawnSync('umount', ['-l', disk]))

    it('refuses --save before training where the disk is too full', async () => {
      await writeFile(join(disk, 'filling'), randomBytes(16_700_000))
      const { code, stderr, lines } = await run([...TRAIN, '--steps', '20', '--save', join(disk, 'model.safetensors'), '--json'])
      expect(code, stderr).to.equal(1)
      expect(stderr).to.match(/^WRITE_FAILED: --save: received .*; the model needs about .*, and .* are free there/)
      expect(lines.some(({ event }) => event === 'progress')).to.equal(false)
      expect(await readdir(disk)).to.deep.equal(['filling'])
    })

    it('leaves no part of a config or of a plot where the disk is full, and an older one as it is', async () => {
      const [config, plot] = [join(disk, 'arbalest.config.ts'), join(disk, 'memory.svg')]
      for (const path of [config, plot]) await writeFile(path, 'mine')
      const fill = () => void spawnSync('dd', ['if=/dev/zero', `of=${join(disk, 'filling')}`, 'bs=1k', 'oflag=append', 'conv=notrunc'])
      fill()
      const full = /^WRITE_FAILED: (init: arbalest\.config\.ts|--plot: received ).*cannot be written \(ENOSPC: /
      const plotting = ['explain', 'mlp', '--gflops', '10', '--gbs', '10', '--plot']
      for (const args of [
        ['init', '--force'],
        [...plotting, plot],
        [...plotting, join(disk, 'other.svg')]
      ]) {
        const { code, stderr } = await run(args, { cwd: disk })
        expect(code, args.join(' ')).to.equal(1)
        expect(stderr).to.match(full)
      }
      for (const path of [config, plot]) expect(await readFile(path, 'utf8')).to.equal('mine')
      await rm(config)
      fill()
      expect((await run(['init'], { cwd: disk })).stderr).to.match(full)
      expect((await readdir(disk)).sort()).to.deep.equal(['filling', 'memory.svg'])
    })

    it('keeps the model elsewhere, and every checkpoint whole, where the disk fills up while it trains', async () => {
      const [kept, temporary] = [join(disk, 'kept'), join(folder.path, 'tmp')]
      await mkdir(temporary)
      const options = { env: { TMPDIR: temporary } }
      const saving = [
        '--save',
        join(disk, 'model.safetensors'),
        '--checkpoint-dir',
        kept,
        '--checkpoint-keep',
        '1',
        '--checkpoint-period',
        '50'
      ]
      const { child, ended, said } = start([...ENDLESS, ...saving, '--json'], options)
      await said('"folder":"/')
      const filling = join(disk, 'filling')
      const fill = () => void spawnSync('dd', ['if=/dev/zero', `of=${filling}`, 'bs=1k', 'oflag=append', 'conv=notrunc'])
      fill()
      await said('"code":"WRITE_FAILED"')
      // A checkpoint that fails gives its room back: the disk is full once filling it again changes nothing, several times.
      for (let [full, size] = [0, 0]; full < 4; full = statSync(filling).size === size ? full + 1 : 0) {
        size = statSync(filling).size
        await new Promise((resolve) => setTimeout(resolve, 100))
        fill()
      }
      child.kill('SIGTERM')
      const { code, lines, stderr } = await ended
      expect(code, stderr).to.equal(1)
      expect(lines.at(-2), stderr).to.include({ event: 'finished', checkpoints: 'incomplete' })
      const failed = lines.find((line) => line['code'] === 'WRITE_FAILED')!
      expect(failed['reason']).to.match(/checkpoint-\d+: the disk is full \(ENOSPC\): it needs [\d.]+ MB, and .+ are free there; make room/)
      expect(failed['reason']).to.match(/; the checkpoint before it, .*checkpoint-\d+, is whole$/)
      expect(stderr).to.match(/model\.safetensors: the disk is full \(ENOSPC\): it needs 0\.\d+ MB, and .*; the model is in /)
      await loadModel(savedIn(stderr))
      await rm(filling)
      const steps = String(Number(lines.at(-2)!['iterations']) + 10)
      const resumed = await run([...TRAIN, '--steps', steps, '--checkpoint-dir', kept, '--checkpoint-keep', '1', '--json'])
      expect(resumed.code, resumed.stderr).to.equal(0)
      expect(resumed.lines.find(({ event }) => event === 'resumed')).to.not.equal(undefined)
      expect(resumed.lines.at(-1)).to.include({ event: 'finished', checkpoints: 'complete' })
      execFileSync('umount', [disk])
    })
  })
})
