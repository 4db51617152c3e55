import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { skip } from '../../support/skip.js'

const SCRIPT = fileURLToPath(new URL('../../../../scripts/fuzz-native.js', import.meta.url))

describe('the native engine under sanitizers', function () {
  this.timeout(0)

  it('takes or refuses what libFuzzer makes of programs, snapshots and vectors', function () {
    if (spawnSync('clang++', ['--version']).status !== 0) skip(this, 'clang is not installed')
    const { status, stderr } = spawnSync(process.execPath, [SCRIPT, '--seconds', '60'], { encoding: 'utf8', maxBuffer: 2 ** 30 })
    expect(status, stderr.slice(-4000)).to.equal(0)
    for (const harness of ['program', 'snapshot', 'vectors']) expect(stderr).to.include(`== ${harness}`)
  })
})
