import { createHash } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { SUPERCLASSES, FINE_CLASSES } from '../../src/data/catalogue.js'
import { datasetNames } from '../../src/data/dataset-names.js'
import { openDataset } from '../../src/data/open.js'
import type { DatasetSpec } from '../../src/engine/contract.js'
import { refused } from '../support/codes.js'
import { requireData } from '../support/data.js'
import { Folder, idxFile } from './support/files.js'

function sum(bytes: NodeJS.ArrayBufferView): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16)
}

/** Count, first labels and the beginnings of the SHA-256 sums of pixels and of labels as bytes. */
function summary({ count, samples, labels }: DatasetSpec): unknown[] {
  return [count, [...labels!.subarray(0, 8)], sum(samples), sum(Uint8Array.from(labels!))]
}

async function writeMnist(folder: Folder, at: string): Promise<void> {
  await mkdir(join(folder.path, at), { recursive: true })
  for (const [part, count] of [
    ['train', 3],
    ['t10k', 2]
  ] as const) {
    await folder.write(`${at}/${part}-images-idx3-ubyte`, idxFile([count, 28, 28], new Uint8Array(count * 784).fill(count)))
    await folder.write(`${at}/${part}-labels-idx1-ubyte`, idxFile([count], new Uint8Array(count).fill(count)))
  }
}

describe('openDataset', function () {
  this.timeout(120_000)
  let folder: Folder
  beforeEach(async () => {
    folder = await Folder.make()
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  it('refuses an unknown name with the list of names', async () => {
    expect(datasetNames).to.deep.equal(['digits', 'mnist', 'fashion-mnist', 'cifar-10', 'cifar-100', 'cifar-100-coarse', 'tinyshakespeare'])
    await refused('UNKNOWN_NAME', () => openDataset('minst'), '"minst"', ...datasetNames)
  })

  it('draws digits as asked', async () => {
    const set = await openDataset('digits', { samples: 30, seed: 1 })
    expect([set.name, set.train.count, set.test.count]).to.deep.equal(['digits', 30, 3])
    expect(set.classNames).to.deep.equal(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
  })

  it('refuses options that do not suit the name', async () => {
    await refused('INVALID_OPTION', () => openDataset('digits', { directory: folder.path }), 'directory', folder.path)
    await refused('INVALID_OPTION', () => openDataset('mnist', { directory: folder.path, samples: 100 }), 'samples', '100')
    await refused('INVALID_OPTION', () => openDataset('mnist', { directory: '' }), 'directory')
  })

  it('finds the files in the folder named, and below it', async () => {
    for (const at of ['.', 'mnist', 'MNIST/raw']) {
      await using place = await Folder.make()
      await writeMnist(place, at)
      const { train, test } = await openDataset('mnist', { directory: place.path })
      expect([train.count, test.count, train.samples[0], test.labels![0]], at).to.deep.equal([3, 2, 3, 2])
    }
  })

  it('finds them through the environment where no folder is named', async () => {
    await writeMnist(folder, 'mnist')
    const kept = process.env['ARBALEST_DATA']
    process.env['ARBALEST_DATA'] = folder.path
    try {
      expect((await openDataset('mnist')).train.count).to.equal(3)
    } finally {
      if (kept === undefined) delete process.env['ARBALEST_DATA']
      else process.env['ARBALEST_DATA'] = kept
    }
  })

  it('names the environment where that said in which folder to look', async () => {
    const kept = process.env['ARBALEST_DATA']
    process.env['ARBALEST_DATA'] = join(folder.path, 'nowhere')
    try {
      await refused('DATA_NOT_FOUND', () => openDataset('mnist'), join(folder.path, 'nowhere'), 'ARBALEST_DATA')
    } finally {
      if (kept === undefined) delete process.env['ARBALEST_DATA']
      else process.env['ARBALEST_DATA'] = kept
    }
  })

  it('tells which files it looked for, and where', async () => {
    const nowhere = join(folder.path, 'nowhere')
    const error = await refused(
      'DATA_NOT_FOUND',
      () => openDataset('cifar-10', { directory: nowhere }),
      nowhere,
      '--data-dir',
      'test_batch.bin[.gz|.xz]'
    )
    expect(error.data['folders']).to.deep.equal([nowhere, join(nowhere, 'cifar-10'), join(nowhere, 'cifar-10-batches-bin')])
    // A text is never packed: no empty brackets.
    await refused('DATA_NOT_FOUND', () => openDataset('tinyshakespeare', { directory: nowhere }), 'has input.txt;')
    await folder.write('train-images-idx3-ubyte', Buffer.alloc(1))
    await folder.write('t10k-images-idx3-ubyte', Buffer.alloc(1))
    const lacking = await refused('DATA_NOT_FOUND', () => openDataset('mnist', { directory: folder.path }), `${folder.path} lacks`)
    expect(lacking.message).to.include('train-labels-idx1-ubyte[.gz], t10k-labels-idx1-ubyte[.gz];')
    expect(lacking.message).to.not.include('images')
  })

  it('finds CIFAR-100 where its archive unpacks to', async () => {
    await mkdir(join(folder.path, 'cifar-100-binary'))
    for (const name of ['train', 'test']) await folder.write(`cifar-100-binary/${name}.bin`, Buffer.from([3, 50]))
    await refused('DATA_CORRUPT', () => openDataset('cifar-100', { directory: folder.path }), 'train.bin', '50000')
  })

  it('names every class of CIFAR-100', () => {
    expect(FINE_CLASSES.length).to.equal(100)
    expect(FINE_CLASSES).to.deep.equal([...FINE_CLASSES].sort())
    expect(SUPERCLASSES.length).to.equal(20)
  })

  it('reads MNIST', async function () {
    const directory = requireData(this, 'mnist')
    const { train, test, mean, std } = await openDataset('mnist', { directory })
    expect(summary(train)).to.deep.equal([60_000, [5, 0, 4, 1, 9, 2, 1, 3], '741c988805d008ac', '1feba77c54802fa5'])
    expect(summary(test)).to.deep.equal([10_000, [7, 2, 1, 0, 4, 1, 4, 9], '6d87418db22cc802', 'ddeff807876a9661'])
    expect([...mean, ...std]).to.deep.equal([0.1307, 0.3081])
  })

  it('reads Fashion-MNIST, from the parent of its folder', async function () {
    const directory = dirname(requireData(this, 'fashion-mnist'))
    const { train, test } = await openDataset('fashion-mnist', { directory })
    expect(summary(train)).to.deep.equal([60_000, [9, 0, 0, 3, 0, 2, 7, 2], '2e487a6c89124f78', '657fbd221bfc9f41'])
    expect(summary(test)).to.deep.equal([10_000, [9, 2, 1, 1, 6, 1, 4, 6], 'c867c93ff9536059', '3d0e6c6ea990b53b'])
  })

  it('reads CIFAR-10', async function () {
    const directory = requireData(this, 'cifar-10')
    const { train, test, sample, augmentation } = await openDataset('cifar-10', { directory })
    expect(sample).to.deep.equal([3, 32, 32])
    expect(augmentation).to.deep.equal({ padding: 4, flip: true })
    expect(summary(train)).to.deep.equal([50_000, [6, 9, 9, 4, 1, 1, 2, 7], '9d5c2eddadb0deff', '2b7cd2f244873176'])
    expect(summary(test)).to.deep.equal([10_000, [3, 8, 8, 0, 6, 6, 1, 6], '177777c33ba79825', 'cec8a24a1e92aa2e'])
  })
})
