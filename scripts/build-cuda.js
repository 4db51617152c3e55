// node scripts/build-cuda.js                 compiles libarbalest-cuda.so for all GPUs from Ampere on, unless it is current
// node scripts/build-cuda.js --arch native   for this machine's GPU only; or --arch 90, or 80,90; always with PTX for later GPUs
// node scripts/build-cuda.js --optional      without a CUDA toolkit it prints a line and exits 0
// node scripts/build-cuda.js --packed        accepts a library that was compiled from these sources on another machine, with any toolkit
// node scripts/build-cuda.js --check         exits 0 if the library is current, otherwise 1
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { findToolkit, ROOT } from './cuda/toolkit.js'
import { jobs } from './jobs.js'

/** Ampere, Ada, Hopper and Blackwell. */
const ALL = '80,86,89,90,100'

const { values: options } = parseArgs({
  options: {
    arch: { type: 'string', default: ALL },
    optional: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    packed: { type: 'boolean', default: false },
    force: { type: 'boolean', default: false }
  }
})

const native = join(ROOT, 'native')
const build = join(native, 'build-cuda')
const library = 'libarbalest-cuda.so'
/** The addon loads the library from here. */
const beside = join(native, 'build', 'Release')
const stampFile = join(build, 'stamp.json')

const sourcesNow = inputs()
const found = readStamp()
const ofTheseSources = existsSync(join(build, 'Release', library)) && found?.inputs === sourcesNow
if (options.packed && (ofTheseSources || options.check)) {
  if (!options.check) install()
  process.exit(ofTheseSources ? 0 : 1)
}

const toolkit = findToolkit()
if (toolkit.missing.length > 0) {
  const line = `build:cuda: missing: ${toolkit.missing.join(', ')}; run \`npx arbalest setup --cuda\`, or set CUDA_HOME`
  process.stderr.write(options.optional ? `${line} (left out)\n` : `${line}\n`)
  process.exit(options.optional && !options.check ? 0 : 1)
}

const wanted = { inputs: sourcesNow, toolchain: [toolkit.root, toolkit.version, options.arch, ...toolkit.includes].join(' | ') }
const current = ofTheseSources && found.toolchain === wanted.toolchain

if (options.check) {
  process.exitCode = current && existsSync(join(beside, library)) ? 0 : 1
} else {
  if (options.force || !current) compile()
  install()
}

function install() {
  mkdirSync(beside, { recursive: true })
  // Replaces the file instead of writing to it, because a process may have mapped the old one.
  rmSync(join(beside, library), { force: true })
  copyFileSync(join(build, 'Release', library), join(beside, library))
}

function compile() {
  if (options.force || found?.toolchain !== wanted.toolchain) rmSync(build, { recursive: true, force: true })
  rmSync(stampFile, { force: true })
  mkdirSync(build, { recursive: true })
  const ninja = spawnSync('ninja', ['--version']).status === 0
  run('cmake', [
    '-S',
    join(native, 'src', 'cuda'),
    '-B',
    build,
    ...(ninja ? ['-G', 'Ninja'] : []),
    `-DCMAKE_CUDA_COMPILER=${toolkit.nvcc}`,
    `-DCMAKE_CUDA_ARCHITECTURES=${architectures(options.arch)}`,
    `-DARBALEST_CUDA_INCLUDES=${toolkit.includes.join(';')}`,
    '-DCMAKE_EXPORT_COMPILE_COMMANDS=ON'
  ])
  // Compiling a kernel for many GPUs takes up to two gigabytes.
  run('cmake', ['--build', build, '--parallel', String(jobs(2 ** 31))])
  writeFileSync(stampFile, JSON.stringify(wanted))
}

/** The value for CMake: machine code for each architecture, and PTX for later ones. */
function architectures(list) {
  if (list === 'native') return 'native'
  const numbers = list.split(',')
  const wrong = numbers.find((number) => !/^\d{2,3}$/.test(number))
  if (wrong !== undefined) {
    process.stderr.write(`--arch: received ${list}; give native, or numbers such as 90 or 80,90\n`)
    process.exit(2)
  }
  return [...numbers.map((number) => `${number}-real`), `${numbers.at(-1)}-virtual`].join(';')
}

function run(command, args) {
  const { status, signal, error } = spawnSync(command, args, { stdio: 'inherit' })
  if (status === 0) return
  process.stderr.write(`The CUDA library was not built (${error?.message ?? signal ?? `${command}: status ${status}`}).\n`)
  process.exit(1)
}

function inputs() {
  const hash = createHash('sha256')
  for (const file of sources(join(native, 'src')))
    hash
      .update(`${relative(ROOT, file)}\0`)
      .update(readFileSync(file))
      .update('\0')
  return hash.digest('hex')
}

/** A hash of the library's sources: its own folder without the stand-in, and the rooms below it. It does not depend on the path of the checkout. */
function sources(folder) {
  const below = (...path) =>
    readdirSync(join(folder, ...path), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
  const headers = ['core', 'data', 'device'].flatMap((room) => below(room)).filter((file) => /\.(h|cmake)$/.test(file))
  const own = below('cuda').filter((file) => !file.startsWith(join(folder, 'cuda', 'host')))
  return [...headers, ...own].sort((a, b) => (a < b ? -1 : 1))
}

function readStamp() {
  try {
    return JSON.parse(readFileSync(stampFile, 'utf8'))
  } catch {
    return undefined
  }
}
