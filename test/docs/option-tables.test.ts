import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

describe('docs/configuration.md', () => {
  it('has the options as their schema has them, and the defaults of the models', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts/option-tables.js'), '--check'], {
      encoding: 'utf8'
    })
    expect(status, stdout + stderr).to.equal(0)
  })
})
