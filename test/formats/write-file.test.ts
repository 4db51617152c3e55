import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { makeFolder } from '../../src/formats/write-file.js'
import { skip } from '../support/skip.js'

describe('a folder that is made', () => {
  let folder: string
  before(() => (folder = mkdtempSync(join(tmpdir(), 'folders-'))))
  after(() => rmSync(folder, { recursive: true }))

  it('comes with those above it, and the first of them is told', () => {
    const path = join(folder, 'a', 'b', 'c')
    expect(makeFolder(path)).to.equal(join(folder, 'a'))
    expect(statSync(path).isDirectory()).to.equal(true)
    expect(makeFolder(path)).to.equal(undefined)
    expect(makeFolder(join(path, 'd'))).to.equal(join(path, 'd'))
  })

  it('cannot be where a file is, nor below it', () => {
    const file = join(folder, 'file')
    writeFileSync(file, '')
    for (const path of [file, join(file, 'below')]) expect(() => makeFolder(path)).to.throw(/EEXIST|ENOTDIR/)
  })

  it('is refused at once by a file system that takes none', function () {
    if (!existsSync('/proc/self')) skip(this, 'there is no /proc here')
    expect(() => makeFolder('/proc/arbalest/folder')).to.throw(/ENOENT|EACCES|EPERM/)
  })
})
