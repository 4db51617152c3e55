import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

describe('Set-up of what is there', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'arbalest set up '))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('says nothing and takes less than five seconds where all is there, with an empty HOME', () => {
    const began = performance.now()
    const { status, stdout, stderr } = spawnSync(join(ROOT, 'scripts/setup'), { env: { ...process.env, HOME: folder }, encoding: 'utf8' })
    expect([status, stdout, stderr]).to.deep.equal([0, '', ''])
    expect(performance.now() - began).to.be.below(5000)
  })
})
