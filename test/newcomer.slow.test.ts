import { expect } from 'chai'
import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import sharp from 'sharp'
import { openDataset } from '../src/data/open.js'
import { skip } from './support/skip.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const TRAIN = ['train', '--learners', '2', '--epochs', '2', '--checkpoint-dir', 'kept', '--json']
const PIXELS = 28 * 28

/** What a user meets first: an empty folder outside of this repository, npm, and the package as it is published. */
describe('A newcomer', function () {
  this.timeout(1_200_000)
  let folder: string
  let project: string
  /** A drawing that no learner has seen, and what it is of. */
  let drawn: { readonly pixels: Uint8Array; readonly digit: number }

  before(async function () {
    const reached = spawnSync('npm', ['view', 'comlink', 'version'], { encoding: 'utf8', timeout: 60_000 })
    if (reached.status !== 0) skip(this, 'no npm registry is reached')
    folder = mkdtempSync(join(tmpdir(), 'arbalest newcomer '))
    project = join(folder, 'project')
    mkdirSync(project)
    const { test } = await openDataset('digits')
    drawn = { pixels: (test.samples as Uint8Array).subarray(0, PIXELS), digit: test.labels![0]! }
  })
  after(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true })
  })

  it('packs a checkout that has built no engine, and installs the package, which builds one', () => {
    expect(readFileSync(join(ROOT, 'docs/install.md'), 'utf8')).to.include('`npm ci --ignore-scripts && npm pack`')
    const checkout = join(folder, 'checkout')
    for (const file of run('git', ['ls-files'], { cwd: ROOT }).trim().split('\n'))
      if (existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(checkout, file))
    symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
    run('npm', ['pack', '--pack-destination', folder], { cwd: checkout })
    expect(existsSync(join(checkout, 'native/build'))).to.equal(false)
    const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))!
    run('npm', ['init', '-y'])
    run('npm', ['pkg', 'set', 'type=module'])
    run('npm', ['install', '--no-audit', '--no-fund', join(folder, tarball)])
    expect(existsSync(join(project, 'node_modules/arbalest/native/build/Release/arbalest.node')), 'the engine').to.equal(true)
    // Nothing is left to do, which it sees at once.
    expect(run('npx', ['arbalest', 'setup'])).to.equal('')
    expect(run('npx', ['arbalest', 'doctor'])).to.include('Training can run here.')
  })

  it('runs the ten lines of the README, and has their types', () => {
    const [, example = ''] = /```ts\n(.*?)```/s.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? []
    writeFileSync(join(project, 'train.ts'), example)
    expect(run('npx', ['jiti', 'train.ts'])).to.match(/testAccuracy: 0\.[89]/)
    run('npm', ['install', '--no-audit', '--no-fund', '--save-dev', '@types/node@20'])
    const strict = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'nodenext', '--types', 'node']
    run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...strict, '--lib', 'es2023,esnext.disposable', 'train.ts'])
  })

  it('writes a config, stops a run by Ctrl-C and by SIGTERM, and goes on to its end', async () => {
    run('npx', ['arbalest', 'init'])
    for (const [signal, status] of [
      ['SIGINT', 130],
      ['SIGTERM', 143]
    ] as const) {
      const stopped = await stoppedBy(signal)
      expect(stopped.status, signal).to.equal(status)
      expect(stopped.events.at(-1), signal).to.include({ event: 'finished', reason: 'stopped' })
    }
    const [first] = readdirSync(join(project, 'kept')).filter((name) => name.startsWith('checkpoint-'))
    expect(first, 'a checkpoint of each stop').to.be.a('string')
    const events = eventsOf(run('npx', ['arbalest', ...TRAIN]))
    expect(events.find(({ event }) => event === 'resumed'))
      .to.have.property('iteration')
      .that.is.greaterThan(0)
    expect(events.at(-1)).to.include({ event: 'finished', reason: 'completed' }).and.to.have.property('testAccuracy').that.is.above(0.95)
    expect(
      run('npx', ['arbalest', 'runs'])
        .split('\n')
        .filter((line) => / lenet +digits /.test(line))
    ).to.have.length(3)
  })

  it('exports the model as ONNX and safetensors, and names an image by either', async () => {
    run('npx', ['arbalest', 'export', 'kept', '--out', 'digits.safetensors'])
    run('npx', ['arbalest', 'export', 'digits.safetensors', '--out', 'digits.onnx'])
    await sharp(drawn.pixels, { raw: { width: 28, height: 28, channels: 1 } })
      .png()
      .toFile(join(project, 'digit.png'))
    const [told] = eventsOf(run('npx', ['arbalest', 'predict', 'digits.safetensors', 'digit.png', '--json']))
    const [likeliest] = told!['classes'] as { class: number }[]
    expect(likeliest!.class).to.equal(drawn.digit)

    const session = await InferenceSession.create(join(project, 'digits.onnx'))
    const input = new Tensor(
      'float32',
      Float32Array.from(drawn.pixels, (byte) => byte / 255),
      [1, 1, 28, 28]
    )
    const logits = (await session.run({ input }))['output']!.data as Float32Array
    expect(logits.indexOf(Math.max(...logits))).to.equal(drawn.digit)
    await session.release()
  })

  function run(program: string, args: readonly string[], { cwd = project } = {}): string {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', env: environment(), maxBuffer: 2 ** 28 })
    expect(status, `${program} ${args.join(' ')}\n${stdout}${stderr}`).to.equal(0)
    return stdout
  }

  /** Once the run has learnt something. Without npx, which ends by a signal itself and says no status. */
  async function stoppedBy(signal: NodeJS.Signals): Promise<{ readonly status: number | null; readonly events: Event[] }> {
    const stdio = ['ignore', 'pipe', 'ignore'] as const
    const child = spawn(join(project, 'node_modules/.bin/arbalest'), TRAIN, { cwd: project, env: environment(), stdio: [...stdio] })
    let said = ''
    let sent = false
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (sent || !said.includes('"event":"progress"')) return
      sent = true
      child.kill(signal)
    })
    const status = await new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve))
    return { status, events: eventsOf(said) }
  }
})

type Event = Readonly<Record<string, unknown>>

function eventsOf(stdout: string): Event[] {
  return stdout.trimEnd().split('\n').map((line) => JSON.parse(line) as Event) // prettier-ignore
}

/** Without what npm has told this very process, as where its packages lie. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_OPTIONS$|^INIT_CWD$/.test(name)))
}
