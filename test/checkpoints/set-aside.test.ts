import { expect } from 'chai'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setAside } from '../../src/checkpoints/set-aside.js'
import { checkpointsIn, CheckpointStore } from '../../src/checkpoints/store.js'
import { Folder } from '../data/support/files.js'
import { entriesOf } from './support/entries.js'

const contents = (iteration: number) => ({
  iteration,
  files: { 'group.safetensors': (path: string) => writeFile(path, `of ${iteration}`) },
  state: {}
})

describe('Checkpoints beyond the beginning of a run', () => {
  let folder: Folder
  beforeEach(async () => (folder = await Folder.make()))
  afterEach(() => folder[Symbol.asyncDispose]())

  it('lie aside as they were, and the others where they were', async () => {
    await using store = await CheckpointStore.open(folder.path)
    for (const iteration of [100, 200, 300]) await store.write(contents(iteration))
    const moved = await setAside(folder.path, 100)
    expect(moved.map((each) => [basename(each.folder), basename(each.movedTo)])).to.deep.equal([
      ['checkpoint-000000000300', 'checkpoint-000000000300.aside'],
      ['checkpoint-000000000200', 'checkpoint-000000000200.aside']
    ])
    expect((await checkpointsIn(folder.path)).map(({ iteration }) => iteration)).to.deep.equal([100])
    expect(await readFile(join(moved[0]!.movedTo, 'group.safetensors'), 'utf8')).to.equal('of 300')
    expect(await setAside(folder.path, 100)).to.deep.equal([])
  })

  it('never take the place of those that were moved before', async () => {
    await using store = await CheckpointStore.open(folder.path)
    for (let time = 0; time < 3; time++) {
      await store.write(contents(7))
      await setAside(folder.path, -1)
    }
    const name = 'checkpoint-000000000007.aside'
    expect((await entriesOf(folder.path)).sort()).to.deep.equal([name, `${name}-2`, `${name}-3`])
  })
})
