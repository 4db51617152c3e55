import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { checkReplaceable, makeFolder, replaceFile } from '../../src/formats/write-file.js'
import { refused } from '../support/codes.js'
import { skip } from '../support/skip.js'

describe('a file that is replaced', () => {
  let folder: string
  before(() => (folder = mkdtempSync(join(tmpdir(), 'files-'))))
  after(() => rmSync(folder, { recursive: true }))

  it('may have the longest name that the system takes', async () => {
    const path = join(folder, 'ü'.repeat(127))
    await checkReplaceable(path)
    await replaceFile(path, { sync: false }, (handle) => handle.writeFile('x'))
    expect(readFileSync(path, 'utf8')).to.equal('x')
    rmSync(path)
  })

  it('is a file: pipes, devices and folders stay', async () => {
    const [pipe, link, below] = ['pipe', 'link', 'folder'].map((name) => join(folder, name)) as [string, string, string]
    execFileSync('mkfifo', [pipe])
    symlinkSync('/dev/null', link)
    makeFolder(below)
    for (const path of [pipe, link, below]) {
      const reason = path === below ? 'EISDIR' : 'it is a pipe or a device'
      await refused('WRITE_FAILED', () => replaceFile(path, { sync: false }, (handle) => handle.writeFile('x')), path, reason)
      await refused('WRITE_FAILED', () => checkReplaceable(path), path, 'it is a ')
    }
    expect(statSync(pipe).isFIFO()).to.equal(true)
    expect(statSync(link).isCharacterDevice()).to.equal(true)
    expect(readdirSync(folder).sort()).to.deep.equal(['folder', 'link', 'pipe'])
  })
})

describe('the permissions of a file that is replaced', () => {
  it('hold for the new one', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'private-'))
    const path = join(folder, 'model')
    for (const mode of [0o600, 0o664]) {
      writeFileSync(path, 'old')
      chmodSync(path, mode)
      await replaceFile(path, { sync: false }, (handle) => handle.writeFile('new'))
      expect(statSync(path).mode & 0o777).to.equal(mode)
    }
    rmSync(folder, { recursive: true })
  })
})

describe('a symbolic link to a file that is replaced', () => {
  let folder: string
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'links-'))))
  afterEach(() => rmSync(folder, { recursive: true }))

  for (const [what, content] of [
    ['a file', 'old'],
    ['none yet', undefined]
  ] as const)
    it(`stays, where it leads to ${what}`, async () => {
      const disk = join(folder, 'disk')
      mkdirSync(join(disk, 'links'), { recursive: true })
      if (content !== undefined) writeFileSync(join(disk, 'model'), content)
      // By a link that is relative to a folder which is reached by a link itself.
      symlinkSync('../model', join(disk, 'links', 'newest'))
      symlinkSync(join(disk, 'links'), join(folder, 'links'))
      const path = join(folder, 'links', 'newest')
      await checkReplaceable(path)
      await replaceFile(path, { sync: true }, (handle) => handle.writeFile('new'))
      expect(lstatSync(path).isSymbolicLink()).to.equal(true)
      expect(readFileSync(join(disk, 'model'), 'utf8')).to.equal('new')
      expect(readdirSync(disk).sort()).to.deep.equal(['links', 'model'])
      expect(readdirSync(join(disk, 'links'))).to.deep.equal(['newest'])
    })

  it('is refused where it leads around in a circle', async () => {
    symlinkSync('two', join(folder, 'one'))
    symlinkSync('one', join(folder, 'two'))
    await refused('WRITE_FAILED', () => replaceFile(join(folder, 'one'), { sync: false }, (handle) => handle.writeFile('x')))
    expect(readdirSync(folder).sort()).to.deep.equal(['one', 'two'])
  })
})

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
