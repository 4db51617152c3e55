import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { answeredPort, callsOver } from '../../src/runtime/port.js'
import { refused } from '../support/codes.js'

describe('calls over a port', () => {
  it('are answered by the other end, each with what it asked for', async () => {
    const { port, close } = answeredPort((call) => Promise.resolve(2 * (call as number)))
    const ask = callsOver(port)
    expect(await Promise.all([1, 2, 3].map(ask))).to.deep.equal([2, 4, 6])
    close()
  })

  it('are refused once the other end is closed, however many there are, with one listener in all', async () => {
    const { port, close } = answeredPort(() => Promise.resolve())
    // An end that closes before anything listens to the other one.
    close()
    await new Promise((resolve) => setTimeout(resolve, 20))
    const ask = callsOver(port)
    for (let i = 0; i < 20; i++) await refused('ACTOR_GONE', () => ask(i))
    expect(port.listenerCount('message')).to.equal(1)
  })

  it('are refused if the other end closes while they wait', async () => {
    const { port, close } = answeredPort(() => new Promise(() => {}))
    const ask = callsOver(port)
    const waiting = refused('ACTOR_GONE', () => ask(1))
    const closed = once(port, 'close')
    close()
    await closed
    await waiting
    await refused('ACTOR_GONE', () => ask(2))
  })

  for (const [what, answer] of [
    ['the answer is there', `(call) => new Promise((resolve) => setTimeout(resolve, 50, call).unref())`],
    ['the other end has closed', `() => new Promise(() => setTimeout(() => end.close(), 50).unref())`]
  ] as const)
    it(`keep a program alive until ${what}, and no longer`, () => {
      const module = new URL('../../src/runtime/port.js', import.meta.url).href
      const program = `const { answeredPort, callsOver } = await import(${JSON.stringify(module)})
        const end = answeredPort(${answer})
        await callsOver(end.port)('answered').then(console.log, ({ code }) => console.log(code))`
      const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
      expect({ status, stdout }).to.deep.equal({ status: 0, stdout: what === 'the answer is there' ? 'answered\n' : 'ACTOR_GONE\n' })
    })

  it('go on where anything else is posted to the port, of which a warning tells', async () => {
    const { port, close } = answeredPort((call) => Promise.resolve(call))
    const warning = once(process, 'warning')
    for (const message of [5, undefined, {}, 'stop', [], [1, 2, 3]]) port.postMessage(message)
    expect(await callsOver(port)('a call')).to.equal('a call')
    expect(String((await warning)[0])).to.contain('port: received 5;')
    close()
  })
})
