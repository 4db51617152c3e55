import { expect } from 'chai'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { datasetFromTexts } from '../../../src/data/datasets.js'
import { holdsTexts } from '../../../src/data/file-kinds.js'
import { Folder } from '../support/files.js'

describe('A folder of texts', () => {
  let folder: Folder
  beforeEach(async () => (folder = await Folder.make()))
  afterEach(() => folder[Symbol.asyncDispose]())

  const make = async (...files: readonly string[]): Promise<string> => {
    for (const file of files) {
      await mkdir(join(folder.path, dirname(file)), { recursive: true })
      await writeFile(join(folder.path, file), 'a text')
    }
    return join(folder.path, files[0]!.split('/')[0]!)
  }

  it('is known by the files of its classes, not by those beside them', async () => {
    expect(holdsTexts(await make('reviews/neg/1.txt', 'reviews/pos/1.txt', 'reviews/README.md'))).to.equal(true)
    expect(holdsTexts(await make('parts/test/neg/1.txt', 'parts/train/neg/1.txt', 'parts/logo.png'))).to.equal(true)
    expect(holdsTexts(await make('late/a/notes.md', 'late/b/1.txt'))).to.equal(true)
    expect(holdsTexts(await make('photos/train/a/1.png', 'photos/wnids.txt'))).to.equal(false)
    expect(holdsTexts(await make('captions/a/1.png', 'captions/a/1.txt'))).to.equal(false)
    expect(holdsTexts(await make('stray/b/1.JPG', 'stray/a/2.jpg', 'stray/a/readme.txt'))).to.equal(false)
    expect([holdsTexts(await make('others/a/1.md')), holdsTexts('/nowhere')]).to.deep.equal([false, false])
  })

  it('is known and read through links', async () => {
    const files = ['neg', 'pos'].flatMap((each) => [1, 2, 3].map((i) => `blobs/${each}/${i}.txt`))
    const blobs = await make(...files)
    await mkdir(join(folder.path, 'linked/neg'), { recursive: true })
    await symlink(join(blobs, 'pos'), join(folder.path, 'linked/pos'))
    for (const i of [1, 2, 3]) await symlink(join(blobs, `neg/${i}.txt`), join(folder.path, `linked/neg/${i}.txt`))
    await symlink(join(folder.path, 'linked'), join(folder.path, 'linked/neg/.again'))
    expect(holdsTexts(join(folder.path, 'linked'))).to.equal(true)
    const { train, test } = await datasetFromTexts({ file: join(folder.path, 'linked'), length: 4 })
    expect(train.count + test.count).to.equal(6)
  })

  it('is looked for in a few folders only, also where links lead in a circle', async () => {
    const root = await make('circle/a/b/note.md')
    for (let i = 0; i < 20; i++) await symlink(root, join(root, `a/${i}`))
    expect(holdsTexts(root)).to.equal(false)
  })
})
