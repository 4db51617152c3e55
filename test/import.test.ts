import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { filesLoadedBy } from './support/loaded-files.js'

const INDEX = new URL('../src/index.js', import.meta.url).href
/** Each file takes a third of a millisecond or more: most of the time of the import. Before adding to this, load the files when they are used. */
const MOST_FILES = 188
/** Packages that every program has; others are loaded when they are used. */
const PACKAGES = ['valibot']

/** The files that a program loads. */
function loadedBy(program: string): string[] {
  return filesLoadedBy(['--input-type=module', '-e', program])
}

describe("import 'arbalest'", () => {
  const files = loadedBy(`await import(${JSON.stringify(INDEX)})`)

  it('loads what a program can call, and not what a run, a loaded model, an explanation or a hub needs', () => {
    expect(files.filter((file) => file.endsWith('src/run/train.js'))).to.have.length(1)
    const late = [
      'run/run.js',
      'run/explain/explain-step.js',
      'run/explain/predict-step.js',
      'run/hosts/serve-hub.js',
      'trained/open-model.js'
    ]
    const heavy = [...late, 'crossover/device-scheduler.js', 'runtime/system.js', 'actors/supervisor.js', 'compiler/lower.js']
    expect(files.filter((file) => heavy.some((name) => file.endsWith(`src/${name}`)))).to.deep.equal([])
  })

  it('loads few files and few packages', () => {
    expect(files.length).to.be.within(100, MOST_FILES)
    const packages = files.flatMap((file) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? [])
    expect([...new Set(packages)].sort()).to.deep.equal(PACKAGES)
  })

  it("loads modules of Node's own when they are used", () => {
    const program = `await import(${JSON.stringify(INDEX)}); console.log(process.moduleLoadList.join('\\n'))`
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
    expect(status, stderr).to.equal(0)
    const loaded = stdout.split('\n').map((line) => line.replace('NativeModule ', ''))
    expect(loaded).to.include('worker_threads')
    expect(['child_process', 'crypto', 'readline', 'v8'].filter((module) => loaded.includes(module))).to.deep.equal([])
  })

  it('is of one copy in a program whose loader makes another one of what is required, as tsx does', () => {
    const program = `
      import module, { syncBuiltinESMExports } from 'node:module'
      const { createRequire } = module
      module.createRequire = (from) => {
        const require = createRequire(from)
        const refusing = (path) => { if (path.endsWith('.js')) throw new Error('required: ' + path); return require(path) }
        return Object.assign(refusing, require)
      }
      syncBuiltinESMExports()
      const { train } = await import(${JSON.stringify(INDEX)})
      console.log((await train({ model: 'mlp', data: 'digits', learners: 2, until: { steps: 4 } }).finished).reason)`
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
    expect(status, stderr).to.equal(0)
    expect(stdout.trim()).to.equal('completed')
  }).timeout(60_000)

  it('is taken by a program in CommonJS, which requires it', () => {
    const program = `
      const { train } = require(${JSON.stringify(fileURLToPath(INDEX))})
      train({ model: 'mlp', data: 'digits', learners: 2, until: { steps: 4 } }).finished.then(({ reason }) => console.log(reason))`
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=commonjs', '-e', program], { encoding: 'utf8' })
    expect(status, stderr).to.equal(0)
    expect(stdout.trim()).to.equal('completed')
  }).timeout(60_000)

  it('trains where `require` takes no ES modules, in a program and by the command line', () => {
    const flag = '--no-experimental-require-module'
    const program = `
      const { train } = await import(${JSON.stringify(INDEX)})
      console.log((await train({ model: 'mlp', data: 'digits', learners: 2, until: { steps: 4 } }).finished).reason)`
    const cli = fileURLToPath(new URL('../../bin/arbalest.js', import.meta.url))
    for (const [args, said] of [
      [['--input-type=module', '-e', program], 'completed'],
      [[cli, 'train', '--no-config', '--model', 'mlp', '--steps', '4'], 'finished after']
    ] as const) {
      const env = { ...process.env, NODE_OPTIONS: flag }
      const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env })
      expect(status, stderr).to.equal(0)
      expect(stdout).to.include(said)
    }
  }).timeout(60_000)

  it('trains from a linked folder whose links Node.js keeps: there the threads have two copies of the runtime', () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-linked-'))
    try {
      symlinkSync(fileURLToPath(new URL('../../', import.meta.url)), join(folder, 'linked'))
      const index = pathToFileURL(join(folder, 'linked/dist/src/index.js')).href
      const program = `import { train } from ${JSON.stringify(index)}
        const { reason } = await train({ model: 'mlp', data: 'digits', learners: 2, until: { steps: 2 } }).finished; console.log(reason)`
      const { stdout, stderr } = spawnSync(process.execPath, ['--preserve-symlinks', '--input-type=module', '-e', program], {
        encoding: 'utf8'
      })
      expect(stdout, stderr).to.equal('completed\n')
    } finally {
      rmSync(folder, { recursive: true })
    }
  }).timeout(60_000)

  it('loads the readers of a kind of files when one is opened', () => {
    const reader = (name: string) => (file: string) => file.endsWith(`src/data/${name}.js`)
    const readers = ['text', 'tables/table', 'tables/csv', 'tables/parquet', 'texts/labelled-texts', 'images/image-folder', 'digits/digits']
    expect(readers.filter((name) => files.some(reader(name)))).to.deep.equal([])
    const opening = `const { datasetFromText } = await import(${JSON.stringify(INDEX)}); await datasetFromText({ text: 'abc'.repeat(20), context: 2 })`
    const opened = loadedBy(opening)
    expect(readers.filter((name) => opened.some(reader(name)))).to.deep.equal(['text'])
  })
})
