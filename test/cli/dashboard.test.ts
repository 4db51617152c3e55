import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run, start, type Running } from './support/arbalest.js'

const TRAIN = ['train', '--model', 'mlp', '--learners', '1', '--steps', '3', '--no-config'] as const

/** The address that a command has told, from a line of JSON. */
async function addressOf({ child, said }: Running): Promise<string> {
  let text = ''
  child.stdout!.on('data', (more: string) => (text += more))
  await said('"dashboard"')
  return (JSON.parse(text.split('\n').find((line) => line.includes('"dashboard"'))!) as { readonly url: string }).url
}

describe('arbalest with a dashboard', () => {
  let folder: string
  before(() => (folder = mkdtempSync(join(tmpdir(), 'arbalest-dashboard-'))))
  after(() => rmSync(folder, { recursive: true }))

  it('tells its address while it trains, in no log, and shows the log afterwards', async () => {
    const { code, lines, stderr } = await run([...TRAIN, '--dashboard', '--log-dir', folder, '--json'])
    expect(code, stderr).to.equal(0)
    expect(lines[0]!['event']).to.equal('dashboard')
    expect(lines.at(-1)!['event']).to.equal('finished')
    const shown = start(['dashboard', folder, '--json'])
    const url = await addressOf(shown)
    expect((await fetch(url)).status).to.equal(200)
    const stream = (await fetch(new URL('events', url))).body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (!/data: .*\n\n/.test(text)) text += (await stream.read()).value
    const [board] = (JSON.parse(/data: (.*)\n\n/.exec(text)![1]!) as { readonly runs: readonly { readonly facts: object }[] }).runs
    expect(board!.facts).to.deep.include({ model: 'mlp', state: 'completed', iteration: 3 })
    expect(JSON.stringify(board)).to.not.include(new URL(lines[0]!['url'] as string).pathname)
    await stream.cancel()
    shown.child.kill('SIGINT')
    expect((await shown.ended).signal).to.equal('SIGINT')
  })

  it('is told what is wrong: a port that is none, a log that is not there', async () => {
    const [port, own, log] = await Promise.all([
      run([...TRAIN, '--dashboard-port', '70000', '--json']),
      run(['dashboard', folder, '--port', '70000', '--json']),
      run(['dashboard', join(folder, 'none'), '--json'])
    ])
    expect(port.lines.at(-1)).to.include({ event: 'failed', code: 'INVALID_OPTION' })
    expect(port.lines.at(-1)!['message']).to.match(/^--dashboard-port: received 70000; use a whole number from 0 to 65535/)
    expect(own.lines.at(-1)).to.include({ event: 'failed', code: 'INVALID_OPTION' })
    expect(own.lines.at(-1)!['message']).to.match(/^--port: received 70000; use a whole number from 0 to 65535/)
    expect(log.lines.at(-1)).to.include({ event: 'failed', code: 'DATA_NOT_FOUND' })
  })
})
