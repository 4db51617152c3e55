import { execFileSync } from 'node:child_process'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect } from 'chai'
import type { StreamedSamples, Dataset } from '../../../src/data/dataset.js'
import { refused } from '../../support/codes.js'
import { skip } from '../../support/skip.js'
import { Folder } from '../support/files.js'
import { imageFolder } from '../../../src/data/datasets.js'

const parts = ({ train, test }: Dataset) => [train as StreamedSamples, test as StreamedSamples] as const
const namesOf = ({ items, labels }: StreamedSamples) => items.map((item, i) => `${labels![i]} ${basename(item)}`)

describe('A folder of images', () => {
  let folder: Folder
  beforeEach(async () => {
    folder = await Folder.make()
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  /** Files that are not opened before they are wanted. */
  async function write(...paths: readonly string[]): Promise<void> {
    for (const path of paths) {
      await mkdir(join(folder.path, path, '..'), { recursive: true })
      await writeFile(join(folder.path, path), '')
    }
  }

  it('has its classes by sorted names, and in each the images by theirs', async () => {
    await write(
      'train/b/2.JPG',
      'train/b/10.png',
      'train/a/x/y.webp',
      'train/C/1.jpeg',
      'test/a/1.gif',
      'test/b/.hidden.jpg',
      'test/b/3.tif'
    )
    await write('train/a/notes.txt', 'train/.cache/1.jpg')
    const data = await imageFolder(folder.path, { size: 32 })
    expect([data.classes, data.classNames, data.sample]).to.deep.equal([3, ['C', 'a', 'b'], [3, 32, 32]])
    const [train, test] = parts(data)
    expect(namesOf(train)).to.deep.equal(['0 1.jpeg', '1 y.webp', '2 10.png', '2 2.JPG'])
    expect(namesOf(test)).to.deep.equal(['1 1.gif', '2 3.tif'])
    expect([train.count, test.count, data.name]).to.deep.equal([4, 2, basename(folder.path)])
    expect([data.mean[0], data.std[0]]).to.deep.equal([0.485, 0.229])
  })

  it('holds out a share of each class where there is one tree', async () => {
    for (const of of ['cat', 'dog']) await write(...Array.from({ length: of === 'cat' ? 20 : 5 }, (_, i) => `${of}/${i}.png`))
    const [train, test] = parts(await imageFolder(folder.path, { testFraction: 0.2 }))
    const counts = (part: StreamedSamples) => [0, 1].map((label) => part.labels!.filter((each) => each === label).length)
    expect([counts(train), counts(test)]).to.deep.equal([
      [16, 4],
      [4, 1]
    ])
    expect(new Set([...train.items, ...test.items]).size).to.equal(25)
    const again = parts(await imageFolder(folder.path, { testFraction: 0.2 }))
    expect(again[1].items).to.deep.equal(test.items)
    const other = parts(await imageFolder(folder.path, { testFraction: 0.2, seed: 1 }))
    expect(other[1].items).to.not.deep.equal(test.items)
  })

  it('takes a folder train for a class where it has neighbours that are no parts', async () => {
    await write('train/1.png', 'train/2.png', 'plane/1.png', 'plane/2.png')
    expect((await imageFolder(folder.path)).classNames).to.deep.equal(['plane', 'train'])
  })

  it('knows the parts by all their usual names, in capitals or not', async () => {
    const usual: [train: string, tests: string[], taken: string][] = [
      ['train', ['valid'], 'valid'],
      ['train', ['test', 'valid'], 'test'],
      ['Train', ['Test'], 'Test'],
      ['TRAINING', ['Testing'], 'Testing'],
      ['training', ['validation', 'dev'], 'validation'],
      ['train', ['eval'], 'eval']
    ]
    for (const [i, [train, tests, taken]] of usual.entries()) {
      const root = join(folder.path, String(i))
      for (const part of [train, ...tests]) await write(...['a', 'b'].map((name) => join(String(i), part, name, `${part}.png`)))
      const data = await imageFolder(root)
      expect([data.classNames, ...parts(data).map(({ items }) => items.map((item) => basename(item, '.png')))]).to.deep.equal([
        ['a', 'b'],
        [train, train],
        [taken, taken]
      ])
    }
    await write('other/train/1.png', 'other/train/2.png', 'other/Training/1.png', 'other/Training/2.png')
    expect((await imageFolder(join(folder.path, 'other'))).classNames).to.deep.equal(['Training', 'train'])
  })

  it('follows links to folders', async () => {
    await write('elsewhere/1.png', 'elsewhere/2.png', 'data/a/1.png', 'data/a/2.png')
    await symlink(join(folder.path, 'elsewhere'), join(folder.path, 'data', 'b'))
    expect((await imageFolder(join(folder.path, 'data'))).classNames).to.deep.equal(['a', 'b'])
  })

  it('leaves out pipes, which would be waited for', async () => {
    await write('a/1.png', 'a/2.png', 'b/1.png', 'b/2.png')
    execFileSync('mkfifo', [join(folder.path, 'a', 'pipe.png')])
    await symlink(join(folder.path, 'a', 'pipe.png'), join(folder.path, 'b', 'link.png'))
    await symlink(join(folder.path, 'nowhere.png'), join(folder.path, 'b', 'broken.png'))
    const [train, test] = parts(await imageFolder(folder.path))
    const names = [...train.items, ...test.items].map((item) => basename(item)).sort()
    expect(names).to.deep.equal(['1.png', '1.png', '2.png', '2.png', 'broken.png'])
  })

  it('refuses links that bring a folder twice into a class, or never end', async () => {
    await write('data/a/1.png', 'data/a/2.png', 'data/b/x/1.png', 'data/b/2.png')
    const data = join(folder.path, 'data')
    const link = join(data, 'b', 'y')
    await symlink(join(data, 'b', 'x'), link)
    await refused('DATA_CORRUPT', () => imageFolder(data), join('b', 'x'), 'remove the link')
    await rm(link)
    await symlink(data, link)
    await refused('DATA_CORRUPT', () => imageFolder(data), join('data', 'b'), 'remove the link')
    await rm(link)
    await symlink(join(data, 'a'), link)
    expect(parts(await imageFolder(data)).reduce((sum, { count }) => sum + count, 0)).to.equal(6)
  })

  it('takes validation images from val, and a share where there are none', async () => {
    await write('train/a/1.png', 'train/a/2.png', 'train/b/1.png', 'val/b/1.png')
    expect(namesOf(parts(await imageFolder(folder.path))[1])).to.deep.equal(['1 1.png'])
    await rm(join(folder.path, 'val'), { recursive: true })
    // Class b has one image only, which is learnt from.
    expect(parts(await imageFolder(folder.path)).map((part) => part.count)).to.deep.equal([2, 1])
  })

  it('refuses a folder that it cannot make sense of, with what it found', async () => {
    await refused('DATA_NOT_FOUND', () => imageFolder(join(folder.path, 'nowhere')), 'nowhere')
    await refused('DATA_CORRUPT', () => imageFolder(folder.path), folder.path, 'found none')
    await write('a/1.png')
    await refused('DATA_CORRUPT', () => imageFolder(folder.path), 'at least 2 classes', 'only a')
    await mkdir(join(folder.path, 'b'))
    await refused('DATA_CORRUPT', () => imageFolder(folder.path), join(folder.path, 'b'), 'found none')
    await write('b/1.png')
    await refused('DATA_CORRUPT', () => imageFolder(folder.path), 'one class with two images')
    await write('c/train/a/1.png', 'c/train/b/1.png', 'c/test/a/1.png', 'c/test/z/1.png')
    await refused('DATA_CORRUPT', () => imageFolder(join(folder.path, 'c')), join('test', 'z'))
  })

  it('refuses a file name that is not UTF-8, and names its folder', async function () {
    await write('a/1.png', 'a/2.png', 'b/1.png', 'b/2.png')
    try {
      await writeFile(Buffer.concat([Buffer.from(join(folder.path, 'b/')), Buffer.of(0xff), Buffer.from('.png')]), '')
    } catch {
      skip(this, 'this file system takes only names in UTF-8')
    }
    await refused('DATA_CORRUPT', () => imageFolder(folder.path), join(folder.path, 'b'), 'file names in UTF-8', 'rename the file')
  })

  it('refuses options that cannot be, by their names', async () => {
    const wrong = [
      ['size', { size: 0 }],
      ['threads', { threads: 5000 }],
      ['resize', { size: 64, resize: 60 }],
      ['channels', { channels: 2 }],
      ['crop.scale', { crop: { scale: [0.5, 0.2] } }],
      ['crop.ratio', { crop: { ratio: [0, 1] } }],
      ['colour.hue', { colour: { hue: 0.6 } }],
      ['colour.tint', { colour: { tint: 0.1 } }],
      ['colour.contrast', { channels: 1, colour: { contrast: 0.1 } }],
      ['mean', { mean: [1] }],
      ['std[2]', { std: [1, 1, 0] }],
      ['testFraction', { testFraction: 1 }],
      ['threads', { threads: 0 }],
      ['cache', { cache: -1 }]
    ] as const
    for (const [option, options] of wrong)
      await refused('INVALID_OPTION', () => imageFolder(folder.path, options as object), `${option}: received`)
    await refused('UNKNOWN_NAME', () => imageFolder(folder.path, { onBadImage: 'cry' as 'fail' }), 'onBadImage: received')
  })
})
