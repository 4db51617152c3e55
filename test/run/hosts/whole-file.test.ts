import { expect } from 'chai'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { wholeFile } from '../../../src/run/hosts/whole-file.js'

describe('A file that goes to another host', () => {
  it('is read whole, piece by piece', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-whole-'))
    try {
      const path = join(folder, 'state')
      for (const length of [0, 1, 99, 100, 101, 1234]) {
        const content = Uint8Array.from({ length }, (_, i) => i % 251)
        writeFileSync(path, content)
        expect(await wholeFile(path, 100)).to.deep.equal(content)
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
