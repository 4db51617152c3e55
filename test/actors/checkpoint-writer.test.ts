import { expect } from 'chai'
import { open, readFile, readlink, type FileHandle } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { CheckpointWriter } from '../../src/actors/checkpoint-writer.js'
import { defineModel, linear } from '../../src/model/layers.js'
import { Folder } from '../data/support/files.js'

/** Of a group without vectors. */
export const engine = { snapshotParts: () => ({ vectors: [], counts: {} }), release: () => {} }

const OPTIONS = {
  engine: import.meta.url,
  keep: 3,
  monitor: undefined,
  parameters: [],
  model: defineModel({ name: 'none', input: [1], layers: [linear(1)] }),
  normalisation: { mean: [0], std: [1] },
  classNames: undefined,
  encoding: undefined
}

describe('The writer of checkpoints', () => {
  it('has the learners of other hosts on the disk, as all other files, before the checkpoint is there', async () => {
    await using folder = await Folder.make()
    const writer = new CheckpointWriter({ ...OPTIONS, folder: folder.path })
    await writer.started()
    const content = Uint8Array.of(1, 2, 3)
    const order = { iteration: 7, group: 1, learners: [content], evaluated: null, statistics: {}, state: {} }
    let written = ''
    const synced = await syncedDuring(async () => (written = await writer.write(order)))
    expect(await readFile(join(written, 'learner-0.safetensors'))).to.deep.equal(Buffer.from(content))
    for (const name of ['group.safetensors', 'learner-0.safetensors', 'checkpoint.json'])
      expect(
        synced.some((each) => each.startsWith(name) || each.startsWith(`.${name}`)),
        `${name} of ${synced.join(', ')}`
      ).to.equal(true)
    await writer.stopping()
  })
})

/** The names of the files that are synced meanwhile. */
async function syncedDuring(work: () => Promise<unknown>): Promise<readonly string[]> {
  const names: string[] = []
  const prototype = await prototypeOfHandles()
  const { sync } = prototype
  prototype.sync = async function (this: FileHandle) {
    names.push(basename(await readlink(`/proc/self/fd/${this.fd}`)))
    return sync.call(this)
  }
  try {
    await work()
  } finally {
    prototype.sync = sync
  }
  return names
}

async function prototypeOfHandles(): Promise<FileHandle> {
  await using handle = await open('/dev/null')
  return Object.getPrototypeOf(handle) as FileHandle
}
