import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PACKAGE = new URL('../../src/index.js', import.meta.url).href
const SCRIPT = `
import { openDataset, train } from '${PACKAGE}'
const data = await openDataset('digits', { samples: 200 })
for (let run = 0; run < 2; run++) await train({ model: 'mlp', data, batch: 8, learners: 2, until: { steps: 40 } }).finished`

describe('A run under the profiler of Node.js', function () {
  this.timeout(120_000)
  let folder: string
  before(() => (folder = mkdtempSync(join(tmpdir(), 'arbalest profile '))))
  after(() => rmSync(folder, { recursive: true }))

  it('ends as any other: the signals of the profiler do no harm to the matrix products', () => {
    const flags = ['--cpu-prof', '--cpu-prof-interval', '200', '--cpu-prof-dir', folder]
    const { status, signal, stderr } = spawnSync(process.execPath, [...flags, '--input-type=module', '--eval', SCRIPT], {
      encoding: 'utf8'
    })
    expect([status, signal], stderr).to.deep.equal([0, null])
    // One of the main thread, and of each of the others.
    expect(readdirSync(folder).length).to.be.above(2)
  })
})
