import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const SYSTEM = new URL('../../src/runtime/system.js', import.meta.url)
const ACTORS = new URL('./support/actors.js', import.meta.url)
/** Milliseconds: longer than the deadline. */
const SUSPENSION = 4_500

describe('A process that is suspended for longer than a deadline', function () {
  this.timeout(60_000)

  it('has its actors started and answered as if it had not been', async () => {
    const body = `
      import { ActorSystem } from '${SYSTEM.href}'
      const system = new ActorSystem()
      const spawn = (name, options, how) => system.spawn(new URL('${ACTORS.href}'), name, options, how)
      const recorder = await spawn('Recorder', {})
      const deadline = 4000
      // The second message has its turn after the suspension.
      void recorder.ask.slowly('first', 500)
      const all = [
        spawn('Faulty', { startTakes: 500 }, { deadline }).then(() => 'started'),
        recorder.askWith({ deadline }).slowly('answered', 100)
      ]
      console.log('waits')
      console.log((await Promise.allSettled(all)).map(({ value, reason }) => value ?? reason.message).join())
      await system.stop()`
    const child = spawn(process.execPath, ['--input-type=module', '-e', body], { stdio: ['ignore', 'pipe', 'pipe'] })
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    const lines: string[] = []
    for await (const line of createInterface(child.stdout)) {
      lines.push(line)
      if (line !== 'waits') continue
      await sleep(100)
      child.kill('SIGSTOP')
      await sleep(SUSPENSION)
      child.kill('SIGCONT')
    }
    expect(lines, stderr).to.deep.equal(['waits', 'started,answered'])
  })
})
