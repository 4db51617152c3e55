import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { skip } from '../support/skip.js'

const BUILT = fileURLToPath(new URL('../../../native/build/Release/', import.meta.url))
const STAND_IN = join(BUILT, 'libarbalest-cuda-host.so')

interface Report {
  readonly available: boolean
  readonly detail: string
}

describe('The library of a backend', () => {
  let folder: string
  before(function () {
    if (!existsSync(STAND_IN)) skip(this, 'the stand-in of the CUDA backend is not built')
    folder = mkdtempSync(join(tmpdir(), 'arbalest-interface-'))
    copyFileSync(join(BUILT, 'arbalest.node'), join(folder, 'arbalest.node'))
  })
  after(() => folder && rmSync(folder, { recursive: true }))

  it('is opened where it was built from the same interface', () => {
    copyFileSync(STAND_IN, join(folder, 'libarbalest-cuda-host.so'))
    expect(report('cuda-host')).to.have.property('available', true)
  })

  it('is refused in one sentence where it was built from another', () => {
    const library = readFileSync(STAND_IN, 'latin1')
    const hashes = new Set(library.match(/(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g))
    expect(hashes).to.have.property('size', 1)
    const [hash = ''] = hashes
    writeFileSync(join(folder, 'libarbalest-cuda.so'), library.replaceAll(hash, '0'.repeat(64)), 'latin1')
    expect(report('cuda')).to.deep.equal({
      available: false,
      detail: 'backend cuda: libarbalest-cuda.so was built from other sources than the engine beside it; run `npx arbalest setup --cuda`'
    })
  })

  /** By a process of its own: what it has opened stays open. */
  function report(backend: string): Report {
    const script = `process.stdout.write(JSON.stringify(require(process.argv[1]).describe(process.argv[2])))`
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', script, join(folder, 'arbalest.node'), backend], { encoding: 'utf8' })
    expect(stderr).to.equal('')
    return JSON.parse(stdout) as Report
  }
})
