import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const MODULE = new URL('../../src/cli/stop-on-signal.js', import.meta.url).href

/** A process whose clean stop never comes to its end. */
const STUBBORN = `
  import { StopOnSignal } from ${JSON.stringify(MODULE)}
  const signals = new StopOnSignal(() => console.log('stop', signals.exitCode))
  setInterval(() => {}, 1000)
  console.log('ready')`

describe('Signals', () => {
  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGTERM', 143]
  ] as const) {
    it(`${signal} asks for a clean stop once, and ends the process at once the second time`, async () => {
      const child = spawn(process.execPath, ['--input-type=module', '--eval', STUBBORN])
      const heard = async () => String((await once(child.stdout, 'data'))[0])
      expect(await heard()).to.equal('ready\n')
      child.kill(signal)
      expect(await heard()).to.equal(`stop ${status}\n`)
      expect(child.exitCode).to.equal(null)
      child.kill(signal)
      expect(await once(child, 'close')).to.deep.equal([null, signal])
    })
  }
})
