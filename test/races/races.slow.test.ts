import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const SCRIPT = fileURLToPath(new URL('../../../scripts/test-races.js', import.meta.url))

describe('the native engine under ThreadSanitizer', function () {
  this.timeout(0)

  it('has no races among learners, feeders and owners, and loses nothing', () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, '--seconds', '120'], { encoding: 'utf8', maxBuffer: 2 ** 30 })
    expect(status, (stdout + stderr).slice(-4000)).to.equal(0)
    expect(stdout.match(/^\d+ trials$/gm)).to.have.length(6)
  })
})
