import { expect } from 'chai'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isHangUpIgnored } from '../../src/cli/hang-up.js'
import { Folder } from '../data/support/files.js'
import { skip } from '../support/skip.js'
import { ROOT } from './support/arbalest.js'
import { FewDigits } from './support/few-digits.js'

const few = await FewDigits.make()
after(() => few[Symbol.asyncDispose]())

/** Longer than a test, but limited: a run whose terminal is gone has no parent that would end it. */
const LIMITS = ['--steps', '100000000', '--seconds', '60', '--evaluate-every', '100000']
const RUN = ['train', '--model', 'mlp', ...few.flags, '--learners', '1', '--batch', '8', ...LIMITS]

describe('A terminal that closes', function () {
  this.timeout(120_000)
  let folder: Folder
  beforeEach(async () => (folder = await Folder.make()))
  afterEach(() => folder[Symbol.asyncDispose]())

  it('ends its run with a checkpoint, the model and the exit code of a hang-up', async function () {
    if (spawnSync('script', ['--version']).error) return skip(this, 'script, which makes terminals, is not installed')
    const [model, log, kept] = ['model.safetensors', 'log.jsonl', 'kept'].map((name) => join(folder.path, name)) as [string, string, string]
    const command = [`${ROOT}bin/arbalest.js`, ...RUN, '--save', model, '--log', log, '--checkpoint-dir', kept]
    const quoted = command.map((word) => `'${word}'`).join(' ')
    const status = join(folder.path, 'status')
    // The shell passes the signal on, as one at a prompt does, and waits for the run.
    const shell = `${quoted} & trap 'kill -HUP $!' HUP; wait $!; wait $!; echo $? > '${status}'`
    const terminal = spawn('script', ['-qec', shell, '/dev/null'], { stdio: 'ignore' })
    const logHas = (text: string) => existsSync(log) && readFileSync(log, 'utf8').includes(text)
    await until(() => logHas('"progress"'))
    terminal.kill('SIGKILL')
    await until(() => existsSync(status) && readFileSync(status, 'utf8').endsWith('\n'))
    expect(readFileSync(status, 'utf8')).to.equal('129\n')
    expect(existsSync(model)).to.equal(true)
    expect(logHas('"reason":"stopped"')).to.equal(true)
    expect(logHas(`${kept}/checkpoint-`)).to.equal(true)
  })

  it('leaves alone a run that ignores it, as under nohup', async () => {
    const child = spawn('nohup', [`${ROOT}bin/arbalest.js`, ...RUN, '--json'], { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    child.stdout.on('data', (text: Buffer) => (said += text.toString()))
    await until(() => said.includes('"progress"'))
    child.kill('SIGHUP')
    await sleep(500)
    const before = said.length
    await until(() => said.length > before)
    expect(said).to.not.include('"finished"')
    child.kill('SIGTERM')
    expect(await once(child, 'close')).to.deep.equal([143, null])
  })

  it('is known to be ignored by the mask that the launcher passes on, and by the traces of nohup', async () => {
    const proc = async (name: string, stdin: string, flags: string) => {
      const path = join(folder.path, name)
      await mkdir(join(path, 'fd'), { recursive: true })
      await mkdir(join(path, 'fdinfo'))
      await symlink(stdin, join(path, 'fd/0'))
      await writeFile(join(path, 'fdinfo/0'), `pos:\t0\nflags:\t${flags}\nmnt_id:\t5\n`)
      return path
    }
    const terminal = await proc('terminal', '/dev/pts/0', '0100002')
    const nohup = await proc('nohup', '/dev/null', '02100001')
    const nothing = await proc('nothing', '/dev/null', '0100000')
    const hidden = join(folder.path, 'hidden')
    const mask = (ARBALEST_IGNORED_SIGNALS: string) => ({ ARBALEST_IGNORED_SIGNALS })
    expect(isHangUpIgnored({ env: mask('0000000000000001'), proc: terminal })).to.equal(true)
    expect(isHangUpIgnored({ env: mask('fffffffffffffffe'), proc: terminal })).to.equal(false)
    expect(isHangUpIgnored({ env: mask('what'), proc: hidden })).to.equal(false)
    expect(isHangUpIgnored({ env: { _: '/usr/bin/nohup' }, proc: terminal })).to.equal(true)
    expect(isHangUpIgnored({ env: {}, proc: nohup })).to.equal(true)
    expect(isHangUpIgnored({ env: {}, proc: nothing })).to.equal(false)
  })
})

async function until(holds: () => boolean): Promise<void> {
  for (let waited = 0; !holds(); waited += 50) {
    if (waited > 60_000) throw new Error('it was not to be seen in a minute')
    await sleep(50)
  }
}
