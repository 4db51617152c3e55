// node scripts/build-native.js           builds native/build/Release/arbalest.node unless it is current, or comes prebuilt of the same sources
// node scripts/build-native.js --check   exits 0 if nothing has to be built, otherwise 1, and builds nothing
// node scripts/build-native.js --unpack  installs a prebuilt engine of these sources, if one is at hand; exits 0 if it did, otherwise 1
// node scripts/build-native.js --sources prints the hash of the sources, which the provenance.json of a prebuilt engine has, too
// node scripts/build-native.js --force   builds from scratch
// --tests                                with any of them: also builds the stand-in of the CUDA backend, for the tests
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { jobs } from './jobs.js'
import { prebuiltEngine } from './prebuilt.js'
import { unpackPrebuilt } from './unpack-prebuilt.js'

const root = fileURLToPath(new URL('..', import.meta.url))
const native = join(root, 'native')
const build = join(native, 'build')
const addon = join(build, 'Release', 'arbalest.node')
const stampFile = join(build, 'stamp.json')
const require = createRequire(import.meta.url)

/** The instruction sets of the kernels: `native`, those of this machine, or `all`. */
const kernels = process.env.ARBALEST_KERNELS ?? 'native'

/** The most memory, in bytes, that compiling a file takes: one that includes the binding or oneDNN. */
const MEMORY_OF_A_COMPILER = 2 ** 30

const wanted = stamp()
const found = readStamp()
const flag = { type: 'boolean', default: false }
const { values: options } = parseArgs({ options: { tests: flag, check: flag, unpack: flag, sources: flag, force: flag } })
const { tests, force } = options
const same = found !== undefined && found.inputs === wanted.inputs && found.toolchain === wanted.toolchain
const current = existsSync(addon) ? same && (found.tests || !tests) : !tests && comesPrebuilt()

if (options.check) {
  process.exitCode = current ? 0 : 1
} else if (options.sources) {
  process.stdout.write(`${wanted.inputs}\n`)
} else if (options.unpack) {
  process.exitCode = !existsSync(addon) && unpackPrebuilt(root, wanted.inputs) && comesPrebuilt() ? 0 : 1
} else if (force || !current) {
  // CMake caches the compiler, the libraries and the folder: if one of these has changed, the build begins from scratch.
  if (force || found?.toolchain !== wanted.toolchain) rmSync(build, { recursive: true, force: true })
  rmSync(stampFile, { force: true })
  compile()
  if (tests) compileStandIn()
  writeFileSync(stampFile, JSON.stringify({ ...wanted, tests }))
}

/** A hash of the addon's sources and tools. It reads contents and not times, because a clone or a copy has new times. */
function stamp() {
  const inputs = createHash('sha256')
  for (const file of sources(native))
    inputs
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0')
  for (const name of ['cmake-js', 'node-addon-api', 'node-api-headers'])
    inputs.update(`${name}@${require(`${name}/package.json`).version}\0`)
  const toolchain = [
    native,
    process.arch,
    kernels,
    processorModel(),
    firstLine(process.env.CXX ?? 'g++', '-dumpfullversion', '-dumpversion'),
    firstLine('cmake', '--version'),
    oneDnnVersion()
  ]
  return { inputs: inputs.digest('hex'), toolchain: toolchain.join(' | ') }
}

/** In an installed package it is of that package's version; in a checkout, whose sources change, it must be of these. */
function comesPrebuilt() {
  const engine = prebuiltEngine()
  return engine !== undefined && (!existsSync(join(root, 'tsconfig.json')) || engine.sources === wanted.inputs)
}

function readStamp() {
  try {
    return JSON.parse(readFileSync(stampFile, 'utf8'))
  } catch {
    return undefined
  }
}

function sources(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .filter(
      (entry) =>
        !(
          folder === native &&
          ['build', 'build-cuda', 'build-mpi', 'build-fuzz', 'build-sanitizers', 'build-stress', 'fuzz', 'stress'].includes(entry.name)
        )
    )
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? sources(join(folder, entry.name)) : [join(folder, entry.name)]))
}

function firstLine(command, ...args) {
  return String(spawnSync(command, args, { encoding: 'utf8' }).stdout ?? '').split('\n')[0]
}

/** The processor, because a folder with its build may move to another machine. */
function processorModel() {
  return cpus()[0]?.model ?? ''
}

function oneDnnVersion() {
  const roots = [process.env.DNNL_ROOT && join(process.env.DNNL_ROOT, 'include'), '/usr/local/include', '/usr/include']
  for (const folder of roots) {
    for (const name of ['oneapi/dnnl/dnnl_version.h', 'dnnl_version.h']) {
      const file = folder && join(folder, name)
      if (!file || !existsSync(file)) continue
      const parts = readFileSync(file, 'utf8').match(/DNNL_VERSION_(?:MAJOR|MINOR|PATCH)\s+\d+/g)
      if (parts) return `oneDNN ${parts.map((part) => part.split(/\s+/)[1]).join('.')}`
    }
  }
  return 'oneDNN elsewhere'
}

function compile() {
  const cmakeJs = join(dirname(require.resolve('cmake-js/package.json')), require('cmake-js/package.json').bin['cmake-js'])
  const { status, signal } = spawnSync(
    process.execPath,
    [
      cmakeJs,
      'build',
      '--directory',
      native,
      '--out',
      build,
      '--config',
      'Release',
      '--parallel',
      String(jobs(MEMORY_OF_A_COMPILER)),
      `--CDNODE_ADDON_API_DIR=${dirname(require.resolve('node-addon-api/package.json'))}`,
      `--CDARBALEST_KERNELS=${kernels}`,
      '--CDCMAKE_EXPORT_COMPILE_COMMANDS=ON'
    ],
    { cwd: root, stdio: 'inherit' }
  )
  expectBuilt('The native engine', status, signal)
}

function compileStandIn() {
  const { status, signal } = spawnSync(
    'cmake',
    ['--build', build, '--target', 'arbalest-cuda-host', '--parallel', String(jobs(MEMORY_OF_A_COMPILER))],
    {
      cwd: root,
      stdio: 'inherit'
    }
  )
  expectBuilt('The stand-in of the CUDA backend', status, signal)
}

function expectBuilt(what, status, signal) {
  if (status === 0) return
  process.stderr.write(`${what} was not built (${signal ?? `status ${status}`}).\n`)
  process.exit(1)
}
