import { spawnSync } from 'node:child_process'
import { expect } from 'chai'
import { inOwnProcess } from '../support/own-process.js'
import { skip } from '../support/skip.js'
import type { refusalOfLargeRead } from './support/limited-address-space.js'

const LIMITED = new URL('./support/limited-address-space.js', import.meta.url)

describe('an array that the engine makes', () => {
  it('is refused by a code where there is no memory for it, and the process goes on', function () {
    this.timeout(60_000)
    if (spawnSync('prlimit', ['--version']).error) return skip(this, 'prlimit, which limits the address space, is not installed')
    const { code, message } = inOwnProcess(LIMITED, 'refusalOfLargeRead') as ReturnType<typeof refusalOfLargeRead>
    expect(code).to.equal('OUT_OF_MEMORY')
    expect(message).to.match(/^memory: there is none for an array of \d+ bytes .*ulimit -v/)
  })
})
