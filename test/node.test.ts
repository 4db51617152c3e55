import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { Folder } from './data/support/files.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** What Yarn's file for --require does: it names itself, and its `open` has handles that lack functions. */
const PRELOADED = `
  process.versions.pnp = '3'
  const { promises } = require('node:fs')
  const { open } = promises
  promises.open = async (...args) => {
    const handle = await open(...args)
    const sync = () => { throw new Error('Method not implemented.') }
    return Object.assign(handle, { sync, datasync: sync, [Symbol.asyncDispose]: undefined })
  }
  require('node:module').syncBuiltinESMExports()`

/** What Yarn's loader does: packages are found by it alone. */
const LOADER = `
  import { pathToFileURL } from 'node:url'
  export function resolve(specifier, context, next) {
    return next(specifier, /^[@a-z][^:]*$/.test(specifier) ? { ...context, parentURL: ${JSON.stringify(new URL('../../package.json', import.meta.url).href)} } : context)
  }`

/** The files of a package without its packages beside it, and the environment of a program under Yarn's Plug'n'Play. */
async function underPlugAndPlay(folder: Folder): Promise<NodeJS.ProcessEnv> {
  const isTaken = (path: string) => !/\.(map|ts|tsbuildinfo)$/.test(path)
  for (const part of ['dist/src', 'bin', 'package.json'])
    cpSync(join(ROOT, part), join(folder.path, part), { recursive: true, filter: isTaken })
  symlinkSync(join(ROOT, 'native'), join(folder.path, 'native'))
  const preloaded = await folder.write('pnp.cjs', Buffer.from(PRELOADED))
  const loader = await folder.write('pnp.loader.mjs', Buffer.from(LOADER))
  const options = `--no-warnings --require ${JSON.stringify(preloaded)} --experimental-loader ${pathToFileURL(loader).href}`
  return { ...process.env, NODE_OPTIONS: options, NODE_PATH: join(ROOT, 'node_modules') }
}

describe("Yarn's Plug'n'Play", () => {
  it('finds the packages of a command and of its threads, and writes and reads files', async () => {
    await using folder = await Folder.make()
    const env = await underPlugAndPlay(folder)
    const run = (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, ['bin/arbalest.js', ...args], {
        cwd: folder.path,
        env,
        encoding: 'utf8'
      })
      expect(status, stderr).to.equal(0)
      expect(stderr).not.to.match(/warn|no checkpoint/i)
      return stdout
    }
    const train = ['train', '--model', 'mlp', '--learners', '2', '--checkpoint-dir', 'checkpoints', '--save', 'mlp.safetensors', '--steps']

    expect(run(...train, '4')).to.include('finished')
    expect(run(...train, '8')).to.include('resumed at iteration 4')
    expect(run('export', 'mlp.safetensors', '--out', 'mlp.onnx')).to.include('mlp.onnx')
    expect(existsSync(join(folder.path, 'mlp.onnx'))).to.equal(true)
    expect(readFileSync(join(folder.path, 'mlp.safetensors')).byteLength).to.be.above(1000)
  }).timeout(100_000)
})

describe('A working folder whose name is not UTF-8', () => {
  it('takes checkpoints, logs, traces and models, and no other folder is made', async () => {
    await using folder = await Folder.make()
    const working = Buffer.concat([Buffer.from(`${folder.path}/`), Buffer.of(0x77, 0xff)])
    mkdirSync(working)
    const files = '--checkpoint-dir checkpoints --log-dir runs --tensorboard tb --trace trace.json --save mlp.safetensors'
    const train = `exec "$0" "$1" train --model mlp --learners 1 ${files} --steps`
    const run = (steps: number) => {
      const script = `cd "$2"/w* && ${train} ${steps}`
      const { status, stdout, stderr } = spawnSync('sh', ['-c', script, process.execPath, join(ROOT, 'bin/arbalest.js'), folder.path], {
        encoding: 'utf8'
      })
      expect(status, stderr).to.equal(0)
      return stdout
    }
    run(4)
    expect(run(8)).to.include('resumed at iteration 4')
    expect(readdirSync(folder.path)).to.have.length(1)
    expect(readdirSync(working).sort()).to.deep.equal(['checkpoints', 'mlp.safetensors', 'runs', 'tb', 'trace.json'])
  }).timeout(60_000)
})
