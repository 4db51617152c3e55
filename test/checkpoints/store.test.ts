import { expect } from 'chai'
import fc from 'fast-check'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { bestOf, checkpointsIn, CheckpointStore, newestWhole } from '../../src/checkpoints/store.js'
import { Checkpoint } from '../../src/checkpoints/checkpoint.js'
import { writeSafetensors } from '../../src/formats/safetensors.js'
import type { Tensor } from '../../src/formats/tensor.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'
import { unprivileged } from '../support/unprivileged.js'
import { warningsIn } from '../support/warnings.js'
import type { EvaluatedEvent } from '../../src/observe/events.js'
import { entriesOf } from './support/entries.js'
import { stateAt } from './support/measured-state.js'

const WRITER = new URL('./support/endless-writer.js', import.meta.url)

const file =
  (...tensors: [string, Tensor][]) =>
  (path: string) =>
    writeSafetensors(path, tensors)

const contents = (iteration: number, measured?: Partial<EvaluatedEvent>, unplanned?: true) => ({
  iteration,
  files: {
    'central.safetensors': file(['weight', { shape: [3, 2], data: Float32Array.from([1, 2, 3, 4, 5, iteration]) }]),
    'learner-0.safetensors': file(['velocity', { shape: [1], data: Float32Array.of(0.5) }])
  },
  state: stateAt(iteration, measured, unplanned)
})

describe('The store of checkpoints', function () {
  this.timeout(60_000)
  let folder: Folder
  let dir: string
  beforeEach(async () => {
    folder = await Folder.make()
    dir = join(folder.path, 'run')
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  it('gives back what was written', async () => {
    await using store = await CheckpointStore.open(dir)
    const written = await store.write(contents(7))
    const checkpoint = await Checkpoint.open(written)
    expect(checkpoint.iteration).to.equal(7)
    expect(checkpoint.manifest.state).to.deep.equal(stateAt(7))
    await using central = await checkpoint.file('central.safetensors')
    expect(await central.read('weight')).to.deep.equal({ shape: [3, 2], data: Float32Array.from([1, 2, 3, 4, 5, 7]) })
  })

  it('is read again however many measurements and messages a run has had', async () => {
    await using store = await CheckpointStore.open(dir)
    const many = Array.from({ length: 700_000 }, (_, i) => i)
    const { manifest } = await Checkpoint.open(await store.write({ ...contents(1), state: { many } }))
    expect((manifest.state as { readonly many: readonly number[] }).many).to.have.length(700_000)
  })

  it('is refused what could not be read again, and those before it stay', async () => {
    await using store = await CheckpointStore.open(dir, { keep: 1 })
    await store.write(contents(1))
    const nested = Array.from({ length: 100 }).reduce((inner: unknown) => [inner], 1)
    await refused(
      'WRITE_FAILED',
      () => store.write({ ...contents(2), state: { nested } }),
      'could not be read again',
      'nesting',
      'send less'
    )
    expect(await entriesOf(dir)).to.have.lengthOf(1)
    expect(await newestWhole(dir, () => {})).to.have.property('iteration', 1)
  })

  it('keeps the newest and the best', async () => {
    await using store = await CheckpointStore.open(dir, { keep: 2 })
    await store.write(contents(1))
    for (const [iteration, testAccuracy] of [[2, 0.9], [3, 0.4]] as const) await store.write(contents(iteration, { testAccuracy })) // prettier-ignore
    for (const iteration of [4, 5]) await store.write(contents(iteration))
    expect((await checkpointsIn(dir)).map(({ iteration }) => iteration)).to.deep.equal([5, 4, 2])
    expect(await bestOf(dir, { monitor: undefined })).to.have.property('iteration', 2)
    expect(await entriesOf(dir)).to.have.lengthOf(3)
  })

  it('keeps what it has just written, whatever lies beyond it', async () => {
    await using store = await CheckpointStore.open(dir, { keep: 1 })
    const beyond = await store.write(contents(600, { testAccuracy: 0.9 }))
    await writeFile(join(beyond, 'central.safetensors'), 'damaged')
    for (const iteration of [100, 200, 300]) await store.write(contents(iteration, iteration === 100 ? {} : undefined))
    expect((await checkpointsIn(dir)).map(({ iteration }) => iteration)).to.deep.equal([600, 300, 100])
    expect(await newestWhole(dir, () => {})).to.have.property('iteration', 300)
  })

  it('is whole where a loss is no finite number, and that one is not the best', async () => {
    await using store = await CheckpointStore.open(dir)
    for (const [iteration, testLoss] of [[1, 2], [2, NaN], [3, Infinity]] as const) await Checkpoint.open(await store.write(contents(iteration, { testLoss, testAccuracy: null }))) // prettier-ignore
    expect(await bestOf(dir, { monitor: undefined })).to.have.property('iteration', 1)
    expect(await bestOf(dir, { monitor: undefined, upTo: 0 })).to.equal(undefined)
  })

  it('keeps of equal accuracies the one with the lower loss, and of equal losses the first, as a run does', async () => {
    await using store = await CheckpointStore.open(dir, { keep: 1 })
    for (const [iteration, testLoss] of [[1, 0.9], [2, 0.8], [3, 0.8], [4, 0.85]] as const) await store.write(contents(iteration, { testLoss })) // prettier-ignore
    expect((await checkpointsIn(dir)).map(({ iteration }) => iteration)).to.deep.equal([4, 2])
    expect(await bestOf(dir, { monitor: undefined })).to.have.property('iteration', 2)
  })

  it('keeps the best by the figure that counts now, also of those measured while another one did', async () => {
    const figures = [[1, 0.9, 0.7], [2, 0.8, 0.6], [3, 0.7, 0.8]] as const // prettier-ignore
    await using store = await CheckpointStore.open(dir, { keep: 1, monitor: 'loss' })
    for (const [iteration, testAccuracy, testLoss] of figures) await store.write(contents(iteration, { testAccuracy, testLoss }))
    expect((await checkpointsIn(dir)).map(({ iteration }) => iteration)).to.deep.equal([3, 2])
  })

  for (const name of ['checkpoint.json', 'central.safetensors']) {
    it(`refuses a pipe or a device in the place of ${name} instead of waiting for its end`, async () => {
      await using store = await CheckpointStore.open(dir)
      const written = await store.write(contents(7))
      const path = join(written, name)
      await rm(path)
      execFileSync('mkfifo', [path])
      await refused('DATA_CORRUPT', () => Checkpoint.open(written), name, 'a file')
      await rm(path)
      await symlink('/dev/zero', path)
      await refused('DATA_CORRUPT', () => Checkpoint.open(written), name, 'a file')
    })
  }

  it('writes on, and opens again, where old ones cannot be cleared away: with a warning', async () => {
    await chmod(folder.path, 0o777)
    await unprivileged(async () => {
      const warnings = await warningsIn(async () => {
        await using store = await CheckpointStore.open(dir, { keep: 1 })
        await chmod(await store.write(contents(1)), 0o500)
        await Checkpoint.open(await store.write(contents(2)))
        expect((await checkpointsIn(dir)).map(({ iteration }) => iteration)).to.deep.equal([2])
      })
      expect(warnings).to.have.length(1)
      expect(warnings[0]).to.contain(dir).and.contain('EACCES')
      const again = await warningsIn(async () => {
        await using store = await CheckpointStore.open(dir, { keep: 1 })
        await store.write(contents(3))
      })
      expect(again).to.have.length(1)
      for (const left of await readdir(dir)) await chmod(join(dir, left), 0o700)
    })
  })

  it('keeps the best of those that an undisturbed run measures, too, beside one that was measured where the run was stopped', async () => {
    await using store = await CheckpointStore.open(dir, { keep: 1 })
    const figures = [[1, 0.6], [2, 0.9, true], [3, 0.5]] as const // prettier-ignore
    for (const [iteration, testAccuracy, unplanned] of figures) await store.write(contents(iteration, { testAccuracy }, unplanned))
    expect((await checkpointsIn(dir)).map(({ iteration }) => iteration)).to.deep.equal([3, 1])
  })

  it('puts a new one in the place of one of the same iteration', async () => {
    await using store = await CheckpointStore.open(dir)
    const written = await store.write(contents(7))
    await writeFile(join(written, 'central.safetensors'), 'not any more')
    await store.write(contents(7))
    await Checkpoint.open(written)
    expect(await entriesOf(dir)).to.deep.equal([basename(written)])
  })

  it('has one of them at every moment meanwhile', async () => {
    await using store = await CheckpointStore.open(dir, { keep: 1 })
    await store.write(contents(7))
    const writing = new AbortController()
    const looks = (async () => {
      const seen = new Set<number>()
      while (!writing.signal.aborted) seen.add((await checkpointsIn(dir)).length)
      return seen
    })()
    for (let i = 0; i < 100; i++) await store.write(contents(7))
    writing.abort()
    expect([...(await looks)])
      .to.include(1)
      .and.not.include(0)
  })

  it('goes on from one that was on its way when the run was killed, and clears it away', async () => {
    await using store = await CheckpointStore.open(dir, { keep: 1 })
    const written = await store.write(contents(7, { testAccuracy: 0.25 }))
    const coming = `${written}.new`
    const newest = async () => (await newestWhole(dir, () => {}))?.folder
    await rename(written, coming)
    expect(await newest()).to.equal(coming)
    await store.write(contents(7))
    expect(await entriesOf(dir)).to.deep.equal([basename(written)])
    await cp(written, coming, { recursive: true })
    expect(await newest()).to.equal(coming)
    await store.write(contents(7, { testAccuracy: 0.75 }))
    expect(await entriesOf(dir)).to.deep.equal([basename(written)])
    expect((await Checkpoint.open(written)).manifest.state).to.deep.equal(stateAt(7, { testAccuracy: 0.75 }))
  })

  it('refuses what was changed, cut short, emptied or taken away, and finds the one before', async () => {
    await using store = await CheckpointStore.open(dir)
    await store.write(contents(1))
    const newest = await store.write(contents(2))
    const names = await readdir(newest)
    const whole = new Map(await Promise.all(names.map(async (name) => [name, await readFile(join(newest, name))] as const)))
    const damage = fc.record({
      name: fc.constantFrom(...names),
      at: fc.nat(),
      kind: fc.constantFrom('flip', 'truncate', 'empty', 'remove', 'append'),
      bit: fc.nat({ max: 7 })
    })
    await fc.assert(
      fc.asyncProperty(damage, async ({ name, at, kind, bit }) => {
        const path = join(newest, name)
        const bytes = Buffer.from(whole.get(name)!)
        const place = at % bytes.length
        if (kind === 'flip') bytes[place]! ^= 1 << bit
        const left = kind === 'truncate' ? bytes.subarray(0, place) : kind === 'empty' ? Buffer.alloc(0) : bytes
        if (kind === 'remove') await rm(path)
        else await writeFile(path, kind === 'append' ? Buffer.concat([left, Buffer.from('x')]) : left)
        const reasons: string[] = []
        const found = await newestWhole(dir, (refusedFolder, error) => reasons.push(`${error.code} ${refusedFolder}`))
        await writeFile(path, whole.get(name)!)
        expect(found?.iteration).to.equal(1)
        expect(reasons).to.deep.equal([`DATA_CORRUPT ${newest}`])
      }),
      { numRuns: 300 }
    )
  })

  it('is not gone on from an earlier one where the newest may be whole and cannot be read', async () => {
    await using store = await CheckpointStore.open(dir)
    await store.write(contents(1))
    const newest = await store.write(contents(2))
    await chmod(folder.path, 0o755)
    await chmod(newest, 0)
    await unprivileged(
      async () => void (await refused('DATA_NOT_FOUND', () => newestWhole(dir, () => {}), newest, 'EACCES', 'let this user read it'))
    )
  })

  it('is copied to another folder, also from an archive that nobody may write into', async () => {
    await chmod(folder.path, 0o777)
    await unprivileged(async () => {
      await using store = await CheckpointStore.open(dir)
      const archived = await store.write(contents(7))
      for (const name of await readdir(archived)) await chmod(join(archived, name), 0o400)
      await using other = await CheckpointStore.open(join(folder.path, 'other'))
      await other.copy(archived)
      await Checkpoint.open(join(other.folder, basename(archived)))
    })
  })

  it('is one run at a time', async () => {
    await using store = await CheckpointStore.open(dir)
    await refused('INVALID_STATE', () => CheckpointStore.open(dir), store.folder, 'another run')
  })

  it('clears away what a killed run left unfinished, and nothing else', async () => {
    await mkdir(join(dir, '.checkpoint-000000000009.0123456789ab'), { recursive: true })
    await writeFile(join(dir, 'notes.txt'), 'mine')
    await using store = await CheckpointStore.open(dir)
    expect(await entriesOf(store.folder)).to.deep.equal(['notes.txt'])
  })

  it('says before any work that a folder cannot be written', async () => {
    await writeFile(join(folder.path, 'file'), '')
    await symlink(join(folder.path, 'nowhere'), join(folder.path, 'link'))
    await mkdir(join(folder.path, 'locked', '.lock'), { recursive: true })
    for (const [name, why] of [['file', 'EEXIST'], ['link', 'EEXIST'], ['locked', '.lock']] as const) // prettier-ignore
      await refused('WRITE_FAILED', () => CheckpointStore.open(join(folder.path, name)), `checkpoint.dir: received ${folder.path}/${name}`, why, 'name a folder') // prettier-ignore
  })

  it('says that it cannot be written where a file is taken away meanwhile', async () => {
    await using store = await CheckpointStore.open(dir)
    const { files, ...about } = contents(1)
    const takeAway = (path: string) => rm(join(path, '..', 'central.safetensors'))
    const bare = { ...about, files: { ...files, taking: (path: string) => writeFile(path, '').then(() => takeAway(path)) } }
    await refused('WRITE_FAILED', () => store.write(bare), 'central.safetensors', 'ENOENT')
    await store.write(contents(2))
  })

  it('says where the disk is full what a checkpoint needs, and which one before it is whole', async () => {
    await using store = await CheckpointStore.open(dir)
    const full = async () => {
      throw Object.assign(new Error('no space'), { code: 'ENOSPC' })
    }
    const { files, ...about } = contents(2)
    const unwritten = { ...about, files: { ...files, last: full }, bytes: 5_000_000 }
    await refused(
      'WRITE_FAILED',
      () => store.write(unwritten),
      'checkpoint-000000000002: the disk is full (ENOSPC): it needs 5.00 MB, and ',
      'there is no checkpoint before it'
    )
    const whole = await store.write(contents(1))
    await refused('WRITE_FAILED', () => store.write(unwritten), `; the checkpoint before it, ${whole}, is whole`)
    await Checkpoint.open(whole)
  })

  it('is whole after a kill at any moment', async () => {
    for (let kill = 0; kill < 12; kill++) {
      const writer = spawn(process.execPath, [WRITER.pathname, dir], { stdio: ['ignore', 'pipe', 'inherit'] })
      await once(writer.stdout, 'data')
      await new Promise((resolve) => setTimeout(resolve, kill * 7))
      writer.kill('SIGKILL')
      await once(writer, 'exit')
      for (const found of await checkpointsIn(dir)) await Checkpoint.open(found.folder)
    }
    const [newest] = await checkpointsIn(dir)
    expect(newest?.iteration).to.be.greaterThan(12)
  })
})
