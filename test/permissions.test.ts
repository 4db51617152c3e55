import { spawnSync } from 'node:child_process'
import { expect } from 'chai'

const INDEX = new URL('../src/index.js', import.meta.url).href
const PERMISSION = process.allowedNodeEnvironmentFlags.has('--permission') ? '--permission' : '--experimental-permission'

const TRAINING = `
  const { ArbalestError, train } = await import(${JSON.stringify(INDEX)})
  const end = await train({ model: 'mlp', data: 'digits', learners: 2, until: { steps: 4 } }).finished.catch((error) => error)
  console.log(end instanceof ArbalestError ? end.code + ': ' + end.message : end.reason ?? end)`

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
    it(`under ${flags.join(' ')}`, () => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, '--input-type=module', '-e', TRAINING], {
        encoding: 'utf8'
      })
      expect(status, stderr).to.equal(0)
      expect(stdout.trim()).to.equal(said)
    })
})
