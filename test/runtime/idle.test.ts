import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'

const SYSTEM = new URL('../../src/runtime/system.js', import.meta.url)
const ACTORS = new URL('./support/actors.js', import.meta.url)

describe('actors that have nothing to do', () => {
  it('cost no processor time: twenty of them, in threads of their own', async () => {
    const body = `
      import { setTimeout as sleep } from 'node:timers/promises'
      import { ActorSystem } from '${SYSTEM.href}'
      const system = new ActorSystem()
      for (let i = 0; i < 20; i++) await (await system.spawn(new URL('${ACTORS.href}'), 'Recorder', {})).ask.note('up')
      await sleep(1000)
      const before = process.cpuUsage()
      await sleep(2000)
      const { user, system: kernel } = process.cpuUsage(before)
      console.log((user + kernel) / 1000)
      await system.stop()`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', body], { timeout: 60_000 })
    // Milliseconds of 2,000; V8 still tidies up after the start now and then.
    expect(Number(stdout)).to.be.below(20)
  })
})
