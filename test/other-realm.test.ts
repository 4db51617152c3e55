import { spawnSync } from 'node:child_process'
import { expect } from 'chai'

const SOURCES = new URL('../src/', import.meta.url).href

/**
 * Runs a program as Jest does: its modules and ours have a global object of their own, so that errors of Node and of the addon are no instances of their
 * `Error`, and `require` loads no ES modules.
 */
const AS_JEST = `
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import vm from 'node:vm'

const context = vm.createContext({ ...Object.fromEntries(
  ['process', 'URL', 'Buffer', 'TextDecoder', 'TextEncoder', 'AbortController', 'AbortSignal', 'performance', 'structuredClone', 'setTimeout', 'clearTimeout',
    'setInterval', 'clearInterval', 'setImmediate', 'queueMicrotask', 'DOMException', 'EventTarget', 'Event', 'ArrayBuffer', 'SharedArrayBuffer']
  .map((name) => [name, globalThis[name]])) })

for (const name of ['dispose', 'asyncDispose']) Object.defineProperty(vm.runInContext('Symbol', context), name, { value: Symbol[name] })

function requireAt(url) {
  const require = createRequire(url)
  const own = (path) => {
    if (!path.endsWith('.js')) return require(path)
    throw Object.assign(new Error('Must use import to load ES Module: ' + path), { code: 'ERR_REQUIRE_ESM' })
  }
  return Object.assign(own, { resolve: require.resolve })
}

const modules = new Map()
const load = (specifier, from) => {
  const url = /^[./]|^file:/.test(specifier) ? new URL(specifier, from).href : specifier
  if (!modules.has(url)) modules.set(url, url.startsWith(${JSON.stringify(SOURCES)}) ? ours(url) : theirs(url))
  return modules.get(url)
}
const ours = (url) => new vm.SourceTextModule(readFileSync(fileURLToPath(url), 'utf8'), {
  context,
  identifier: url,
  initializeImportMeta: (meta) => (meta.url = url),
  importModuleDynamically
})
async function theirs(url) {
  const exported = url === 'node:module' ? { createRequire: requireAt } : await import(url)
  const module = new vm.SyntheticModule(Object.keys(exported), () => Object.entries(exported).forEach(([name, value]) => module.setExport(name, value)), { context })
  return module
}
async function importModuleDynamically(specifier, { identifier }) {
  const module = await load(specifier, identifier)
  if (module.status === 'unlinked') await module.link((name, { identifier: from }) => load(name, from))
  await module.evaluate()
  return module
}
`

describe('a program in another realm, as tests of Jest are', function () {
  this.timeout(60_000)

  function output(program: string): string {
    const all = `${AS_JEST}
      const { namespace: arbalest } = await importModuleDynamically(${JSON.stringify(`${SOURCES}index.js`)}, { identifier: 'file:///' })
      ${program}`
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--experimental-vm-modules', '--input-type=module', '-e', all], {
      encoding: 'utf8'
    })
    expect(status, stderr).to.equal(0)
    return stdout.trim()
  }

  it('trains', () => {
    const training = `const { reason } = await arbalest.train({ model: 'mlp', data: 'digits', learners: 2, until: { steps: 4 } }).finished; console.log(reason)`
    expect(output(training)).to.equal('completed')
  })

  it("gets the engine's errors as ours, and those of the system in words", () => {
    const refusals = `
      for (const given of [{ spill: '/nowhere' }, { checkpoint: '/proc/nowhere' }]) {
        const error = await arbalest.train({ model: 'mlp', data: 'digits', until: { steps: 4 }, ...given }).finished.catch((error) => error)
        console.log(error instanceof arbalest.ArbalestError, error.message)
      }`
    expect(output(refusals).split('\n')).to.deep.equal([
      'true spill: received /nowhere; No such file or directory: give a folder on a disk',
      "true checkpoint.dir: received /proc/nowhere; no checkpoints can be written there (ENOENT: no such file or directory, mkdir '/proc/nowhere'); name a folder that may be written, or one that does not exist yet"
    ])
  })
})
