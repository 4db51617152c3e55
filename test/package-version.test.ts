import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, symlinkSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { join } from 'node:path'
import { expect } from 'chai'
import { packageVersion } from '../src/package-version.js'
import { Folder } from './data/support/files.js'
import { refused } from './support/codes.js'
import { skip } from './support/skip.js'

describe("The package's version", () => {
  it('is that of its manifest', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
    expect(packageVersion()).to.equal(version)
  })

  it('is unknown in a bundle, which is told to leave the package out', async () => {
    await using folder = await Folder.make()
    const ofApp = pathToFileURL(await folder.write('package.json', Buffer.from('{"name":"app","version":"1.0.0"}')))
    const nowhere = pathToFileURL(join(folder.path, 'none/package.json'))
    for (const manifest of [ofApp, nowhere])
      await refused(
        'INVALID_STATE',
        () => packageVersion(manifest),
        'leave it out of your bundle',
        '--packages=external',
        'docs/bundlers.md'
      )
  })

  it('is asked for before anything is loaded that a bundle may not have', async () => {
    await using folder = await Folder.make()
    const sources = fileURLToPath(new URL('../src/', import.meta.url))
    const late = ['run/run.js', 'trained/open-model.js', 'run/explain/explain-step.js', 'run/explain/predict-step.js']
    const isTaken = (path: string) => !/\.(map|ts|tsbuildinfo)$/.test(path) && !late.some((name) => path.endsWith(name))
    cpSync(sources, join(folder.path, 'dist/src'), { recursive: true, filter: isTaken })
    symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder.path, 'node_modules'))
    await folder.write('package.json', Buffer.from('{"name":"app","type":"module"}'))
    const program = `
      import { crossover, explain, loadModel, predict, train } from './dist/src/index.js'
      const calls = [() => train({ model: 'mlp', data: 'digits' }).finished, () => loadModel('x'), () => explain({ model: 'mlp' }), () => predict({ model: 'mlp', hosts: 2 }), async () => crossover([])]
      for (const call of calls) await call().catch(({ code }) => console.log(code))`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { cwd: folder.path, encoding: 'utf8' })
    expect(stdout.trim().split('\n'), stderr).to.deep.equal(Array(5).fill('INVALID_STATE'))
  })

  it('is asked for first in a bundle in CommonJS, which has no addresses of modules', async function () {
    await using folder = await Folder.make()
    await refusedInCommonJs(this, folder, fileURLToPath(new URL('../src/index.js', import.meta.url)))
  }).timeout(60_000)

  it('is asked for first in such a bundle of the package as it is released', async function () {
    const release = new URL('../../scripts/release/', import.meta.url)
    if (!existsSync(new URL('node_modules/esbuild', release))) skip(this, 'the packages of the release are not installed')
    const { bundleModules } = (await import(new URL('bundle.js', release).href)) as {
      readonly bundleModules: (folder: string, entries: readonly string[]) => Promise<number>
    }
    await using folder = await Folder.make()
    const modules = join(folder.path, 'modules')
    const isTaken = (path: string) => !/\.(map|ts|tsbuildinfo)$/.test(path)
    cpSync(fileURLToPath(new URL('../src/', import.meta.url)), modules, { recursive: true, filter: isTaken })
    symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder.path, 'node_modules'))
    await bundleModules(modules, ['index.js', 'actors/index.js', 'cli/main.js'])
    await refusedInCommonJs(this, folder, join(modules, 'index.js'))
  }).timeout(60_000)
})

async function refusedInCommonJs(context: Mocha.Context, folder: Folder, index: string): Promise<void> {
  const esbuild = fileURLToPath(new URL('../../bench/node_modules/.bin/esbuild', import.meta.url))
  if (!existsSync(esbuild)) skip(context, 'the packages of the bench are not installed')
  const app = await folder.write('app.mjs', Buffer.from(`import { train } from ${JSON.stringify(index)}; train({})`))
  const bundle = join(folder.path, 'app.cjs')
  const flags = ['--bundle', '--platform=node', '--log-level=error', `--outfile=${bundle}`]
  expect(spawnSync(esbuild, [app, ...flags], { encoding: 'utf8' }).stderr).to.equal('')
  const { status, stderr } = spawnSync(process.execPath, [bundle], { encoding: 'utf8' })
  expect(stderr).to.include('leave it out of your bundle').and.to.include("code: 'INVALID_STATE'")
  expect(status).to.equal(1)
}
