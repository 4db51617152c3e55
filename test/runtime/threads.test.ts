import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'

const SYSTEM = new URL('../../src/runtime/system.js', import.meta.url)
const ACTORS = new URL('./support/actors.js', import.meta.url)

/** Runs a program that has spawned two actors. Returns its output after it has ended by itself. */
async function program(body: string, flags: readonly string[] = []): Promise<string> {
  const head = `
    import { ActorSystem } from '${SYSTEM.href}'
    const system = new ActorSystem()
    const faulty = await system.spawn(new URL('${ACTORS.href}'), 'Faulty', {})
    const recorder = await system.spawn(new URL('${ACTORS.href}'), 'Recorder', {})
`
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, '--input-type=module', '-e', head + body], { timeout: 20_000 })
  return stdout.trim()
}

describe('actors’ threads', () => {
  it('let the process end by itself once they are stopped', async () => {
    expect(await program(`await recorder.ask.note('x'); await system.stop(); console.log('stopped')`)).to.equal('stopped')
  })

  it('let it end when every actor has failed in its own way', async () => {
    const body = `
      faulty.tell.throwFromTimer()
      recorder.tell.turn()
      console.log((await faulty.exited).kind)
      await recorder.stop()`
    expect(await program(body)).to.equal('failed')
  })

  it('leave none behind when the process is told to exit', async () => {
    expect(await program(`faulty.tell.spin(); console.log('leaving'); process.exit(0)`)).to.equal('leaving')
  })

  it('start in a process with flags that Node gives to no thread', async () => {
    const flags = ['--max-old-space-size=256', '--stack-size=900', '--disable-proto=delete']
    expect(await program(`await recorder.ask.note('x'); await system.stop(); console.log('stopped')`, flags)).to.equal('stopped')
  })
})
