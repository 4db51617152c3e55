import { spawnSync } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { Folder } from './data/support/files.js'

const INDEX = new URL('../src/index.js', import.meta.url).href
const PERMISSION = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission'

/** A program that trains, and tells how that has ended. */
const training = (options = '') => `
  const { ArbalestError, train } = await import(${JSON.stringify(INDEX)})
  const end = await train({ model: 'mlp', data: 'digits', learners: 2, until: { steps: 4 }, ${options} }).finished.catch((error) => error)
  console.log(end instanceof ArbalestError ? end.code + ': ' + end.message : end.reason ?? end)`

function told(flags: readonly string[], program: string): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, '--input-type=module', '-e', program], { encoding: 'utf8' })
  expect(status, stderr).to.equal(0)
  return stdout.trim()
}

describe('a run in a program of few permissions', function () {
  this.timeout(60_000)

  for (const [flags, said] of [
    [[PERMISSION, '--allow-fs-read=*', '--allow-addons', '--allow-worker'], 'completed'],
    [
      [PERMISSION, '--allow-fs-read=*', '--allow-worker'],
      'ENGINE_MISSING: engine: Node.js was told to load no native library; start it without --no-addons, and under --permission with --allow-addons'
    ],
    [
      ['--no-addons'],
      'ENGINE_MISSING: engine: Node.js was told to load no native library; start it without --no-addons, and under --permission with --allow-addons'
    ],
    [
      [PERMISSION, '--allow-fs-read=*', '--allow-addons'],
      'LIMIT_REACHED: threads: Node.js was told to allow none; start it with --allow-worker beside --permission'
    ]
  ] as const)
    it(`under ${flags.join(' ')}`, () => expect(told(flags, training())).to.equal(said))

  it('names the flag by which files may be written', () => {
    const flags = [PERMISSION, '--allow-fs-read=*', '--allow-addons', '--allow-worker']
    const fault = 'WRITE_FAILED: /tmp/checkpoints: it cannot be written (ERR_ACCESS_DENIED)'
    expect(told(flags, training("checkpoint: '/tmp/checkpoints'"))).to.equal(`${fault}; start Node.js with --allow-fs-write for its folder`)
  })

  it('tells of an error of syntax in a learner, without its line', async () => {
    await using folder = await Folder.make()
    const learner = pathToFileURL(await folder.write('learner.mjs', Buffer.from('export default class { step( }')))
    const flags = [PERMISSION, '--allow-fs-read=*', '--allow-addons', '--allow-worker']
    expect(told(flags, training(`learner: new URL(${JSON.stringify(learner)})`))).to.equal(
      `LEARNER_FAILED: learner 0: it cannot be started: learner: received "${learner.href}"; it cannot be loaded: Unexpected token '}'`
    )
  })
})
