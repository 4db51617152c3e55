import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { Folder } from './data/support/files.js'
import { skip } from './support/skip.js'

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

  it('names the flag by which files may be read, whatever they are', async () => {
    const flags = [
      PERMISSION,
      `--allow-fs-read=${new URL('../../', import.meta.url).pathname}*`,
      '--allow-fs-read=/proc/*',
      '--allow-addons'
    ]
    const program = `
      const { datasetFromTable, imageFolder, loadModel, readTable, train } = await import(${JSON.stringify(INDEX)})
      const sink = { header() {}, block() {} }
      for (const read of [
        () => loadModel('/secret/model.safetensors'),
        () => loadModel('/secret/checkpoints'),
        () => datasetFromTable({ file: '/secret/table.csv', target: 'price' }),
        () => readTable('/secret/table.parquet', sink),
        () => imageFolder('/secret/images'),
        () => train({ model: 'mlp', data: '/secret/table.csv', table: { target: 'price' } }).finished,
        () => train({ model: 'mlp', initialWeights: '/secret/model.safetensors' }).finished,
        () => train({ model: 'mlp', learner: '/secret/learner.js' }).finished
      ]) await (async () => read())().catch(({ code, message }) => console.log(code, message))`
    for (const line of told(flags, program).split('\n'))
      expect(line).to.match(
        /^(?:DATA_NOT_FOUND|INVALID_OPTION) .*\/secret\/\S+.*; (?:it may not be read: )?start Node\.js with --allow-fs-read for it$/
      )
    expect(told(flags, program).split('\n')).to.have.lengthOf(8)
  })

  it('names the flag that Parquet takes', async () => {
    await using folder = await Folder.make()
    const table = await folder.write('table.parquet', Buffer.from('PAR1PAR1PAR1'))
    const program = `
      const { readTable } = await import(${JSON.stringify(INDEX)})
      await readTable(${JSON.stringify(table)}, { header() {}, block() {} }).catch(({ code, message }) => console.log(code, message))`
    expect(told([PERMISSION, '--allow-fs-read=*'], program)).to.equal(
      `LIMIT_REACHED ${table}: Parquet is read by a process of its own, and Node.js was told to allow none; start it with --allow-child-process beside --permission`
    )
  })

  describe('where no network is allowed', () => {
    const flags = [PERMISSION, '--allow-fs-read=*', `--allow-fs-write=${tmpdir()}`, '--allow-addons', '--allow-worker']

    before(function () {
      if (!process.allowedNodeEnvironmentFlags.has('--allow-net')) skip(this, 'this Node.js restricts no network')
    })

    it('trains, and answers no `arbalest top`', () => expect(told(flags, training())).to.equal('completed'))

    it('names the flag that a download takes, and asks no mirror', async () => {
      await using folder = await Folder.make()
      const program = `
        const { getData } = await import(${JSON.stringify(INDEX)})
        await getData('mnist', { directory: ${JSON.stringify(folder.path)} }).catch(({ code, message }) => console.log(code, message))`
      expect(told(flags, program)).to.match(
        /^DOWNLOAD_FAILED \S+: Node\.js was told to allow no network; start it with --allow-net beside --permission$/
      )
    })

    for (const [options, parameter] of [
      ['dashboard: true', 'dashboard.port'],
      ['metricsPort: 0', 'metricsPort']
    ])
      it(`names the flag that ${parameter} takes`, () =>
        expect(told(flags, training(options))).to.equal(
          `INVALID_OPTION: ${parameter}: received 0; Node.js was told to allow no network: start it with --allow-net beside --permission`
        ))
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
