import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT } from './support/arbalest.js'

const MODULE = new URL('../../src/cli/stop-on-signal.js', import.meta.url).href

/** A process whose clean stop never comes to its end. */
const STUBBORN = `
  import { StopOnSignal } from ${JSON.stringify(MODULE)}
  const signals = new StopOnSignal(() => console.log('stop', signals.exitCode), { leave: () => process.stdout.write('left') })
  setInterval(() => {}, 1000)
  console.log('ready')`

describe('Signals', () => {
  for (const [signal, status] of [
    ['SIGINT', 130],
    ['SIGQUIT', 131],
    ['SIGTERM', 143]
  ] as const) {
    it(`${signal} asks for a clean stop once, and ends the process at once the second time`, async () => {
      const child = spawn(process.execPath, ['--input-type=module', '--eval', STUBBORN])
      const heard = async () => String((await once(child.stdout, 'data'))[0])
      expect(await heard()).to.equal('ready\n')
      child.kill(signal)
      expect(await heard()).to.equal(`stop ${status}\n`)
      expect(child.exitCode).to.equal(null)
      await sleep(1_100)
      let said = ''
      child.stdout.on('data', (text: Buffer) => (said += text.toString()))
      child.kill(signal)
      expect(await once(child, 'close')).to.deep.equal([null, signal])
      expect(said).to.equal('left')
    })
  }

  it('SIGHUP asks for a clean stop, and never ends the process: the terminal that closes does not ask a save to hurry', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', STUBBORN])
    const heard = async () => String((await once(child.stdout, 'data'))[0])
    await heard()
    child.kill('SIGHUP')
    expect(await heard()).to.equal('stop 129\n')
    await sleep(1_100)
    child.kill('SIGHUP')
    await sleep(300)
    expect([child.exitCode, child.signalCode]).to.deep.equal([null, null])
    child.kill('SIGKILL')
    await once(child, 'close')
  })

  it('takes one that comes twice at once for one, as under npm, which passes on what the terminal has sent already', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', STUBBORN])
    const heard = async () => String((await once(child.stdout, 'data'))[0])
    await heard()
    child.kill('SIGINT')
    await heard()
    child.kill('SIGINT')
    await sleep(300)
    expect([child.exitCode, child.signalCode]).to.deep.equal([null, null])
    child.kill('SIGTERM')
    expect(await once(child, 'close')).to.deep.equal([null, 'SIGTERM'])
  })

  it('reach the run through the shell of `npm start`', async () => {
    const { scripts } = JSON.parse(await readFile(`${ROOT}package.json`, 'utf8')) as { scripts: { start: string } }
    const command = scripts.start.replace('scripts/setup', 'true')
    const run = '--model mlp --data digits --learners 1 --batch 8 --steps 100000000 --json'
    const child = spawn('sh', ['-c', `${command} ${run}`], { cwd: ROOT, detached: true })
    let said = ''
    const training = new Promise<void>((resolve) => {
      child.stdout.on('data', (text: Buffer) => {
        said += text.toString()
        if (said.includes('"progress"')) resolve()
      })
    })
    try {
      await training
      child.kill('SIGTERM')
      expect(await once(child, 'close')).to.deep.equal([143, null])
      expect(said.trimEnd().split('\n').at(-1)).to.include('"reason":"stopped"')
    } finally {
      // Where the shell has died alone.
      if (child.exitCode === null) process.kill(-child.pid!, 'SIGKILL')
    }
  })
})
