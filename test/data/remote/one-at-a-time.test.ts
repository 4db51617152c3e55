import { expect } from 'chai'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { oneAtATime } from '../../../src/data/remote/one-at-a-time.js'
import { ArbalestError } from '../../../src/errors.js'
import { refused } from '../../support/codes.js'
import { Folder } from '../support/files.js'

describe('What writes a file one at a time', () => {
  let folder: Folder
  let path: string
  beforeEach(async () => {
    folder = await Folder.make()
    path = join(folder.path, 'below', 'file.bin')
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  it('waits for the other, is told so, and leaves no lock', async () => {
    let running = 0
    let waited = 0
    const write = (text: string) =>
      oneAtATime(path, { waiting: () => void waited++ }, async () => {
        expect(++running).to.equal(1)
        await sleep(50)
        writeFileSync(path, text, { flag: 'a' })
        running--
        return text
      })
    expect(await Promise.all(['a', 'b', 'c'].map(write))).to.deep.equal(['a', 'b', 'c'])
    expect(readFileSync(path, 'utf8').split('').sort().join('')).to.equal('abc')
    expect(waited).to.be.at.least(2)
    expect(readdirSync(join(folder.path, 'below'))).to.deep.equal(['file.bin'])
  })

  it('goes on where the other fails, and is stopped while it waits', async () => {
    await refused('INTERNAL', () => oneAtATime(path, {}, () => Promise.reject(new ArbalestError('INTERNAL', 'broken'))), 'broken')
    const stop = new AbortController()
    let end = () => {}
    const first = oneAtATime(path, {}, () => new Promise<void>((resolve) => (end = resolve)))
    await sleep(20)
    const second = oneAtATime(path, { waiting: () => stop.abort(), signal: stop.signal }, () => Promise.resolve())
    await refused('ABORTED', () => second, path, 'another process')
    end()
    await first
    expect(readdirSync(join(folder.path, 'below'))).to.deep.equal([])
  })

  it('is refused where there can be no folder', async () => {
    const file = await folder.write('file', Buffer.from(''))
    await refused('WRITE_FAILED', () => oneAtATime(join(file, 'below'), {}, () => Promise.resolve()), file)
  })
})
