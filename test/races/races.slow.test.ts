import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { countOf } from '../support/count.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** Of each harness. */
const SECONDS = countOf('ARBALEST_RACES_SECONDS', 120)

describe('the native engine under ThreadSanitizer', function () {
  this.timeout(0)

  it('has no races, and loses nothing, in any harness of native/stress', () => {
    const harnesses = readdirSync(`${ROOT}native/stress`).flatMap((name) => /^stress_(.+)\.cpp$/.exec(name)?.[1] ?? [])
    const command = [`${ROOT}scripts/test-races.js`, '--seconds', String(SECONDS)]
    const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8', maxBuffer: 2 ** 30 })
    expect(status, (stdout + stderr).slice(-4000)).to.equal(0)
    // Seeds that have found a fault are tried apart, by a run of the harness each.
    const begun = stderr.match(/(?<=^== ).+$/gm) ?? []
    expect(new Set(begun)).to.have.all.keys(harnesses)
    expect(stdout.match(/^[1-9]\d* trials$/gm)).to.have.length(begun.length)
  })
})
