import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { skip } from '../support/skip.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

describe('The API reference', () => {
  it('is what the docstrings say, and every export has one', function () {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts/docs.js'), '--check'], { encoding: 'utf8' })
    if (status === 3) skip(this, stderr.trim())
    expect(status, stdout + stderr).to.equal(0)
  })
})
