// node scripts/build-cuda.js                 compiles libarbalest-cuda.so for all GPUs from Ampere on, unless it is current
// node scripts/build-cuda.js --arch native   for this machine's GPUs only; or --arch 90, or 80,90; always with PTX for later GPUs
// node scripts/build-cuda.js --optional      without a CUDA toolkit it prints a line and exits 0
// node scripts/build-cuda.js --packed        accepts a library that was compiled from these sources on another machine, with any toolkit
// node scripts/build-cuda.js --check         exits 0 if the library is current, otherwise 1
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CUDA_FOLDER, findToolkit } from './cuda/toolkit.js'
import { jobs } from './jobs.js'
import { hashOf, install, isInstalled, linkFolder, NATIVE, readStamp, run, sourcesIn } from './library-build.js'

/** Ampere, Ada, Hopper and Blackwell. */
const ALL = '80,86,89,90,100'
const WHAT = 'The CUDA library'

const { values: options } = parseArgs({
  options: {
    arch: { type: 'string', default: ALL },
    optional: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    packed: { type: 'boolean', default: false },
    force: { type: 'boolean', default: false }
  }
})

const build = join(NATIVE, 'build-cuda')
const library = join(build, 'Release', 'libarbalest-cuda.so')
const stampFile = join(build, 'stamp.json')

const sourcesNow = hashOf(sources())
const found = readStamp(stampFile)
const ofTheseSources = existsSync(library) && found?.inputs === sourcesNow
if (options.packed && (ofTheseSources || options.check)) {
  if (!options.check) installLibrary()
  process.exit(ofTheseSources ? 0 : 1)
}

const toolkit = findToolkit()
if (toolkit.missing.length > 0) {
  const line = `build:cuda: missing: ${toolkit.missing.join(', ')}; run \`npx arbalest setup --cuda\`, or set CUDA_HOME`
  process.stderr.write(options.optional ? `${line} (left out)\n` : `${line}\n`)
  process.exit(options.optional && !options.check ? 0 : 1)
}

const arch = options.arch === 'native' ? ownArchitectures() : options.arch
const wanted = { inputs: sourcesNow, toolchain: [toolkit.root, toolkit.version, arch, ...toolkit.includes].join(' | ') }
const current = ofTheseSources && found.toolchain === wanted.toolchain

if (options.check) {
  process.exitCode = current && isInstalled(library) ? 0 : 1
} else {
  if (options.force || !current) compile()
  installLibrary()
}

/** With the way to NVIDIA's libraries, which it opens at run time. */
function installLibrary() {
  install([library])
  linkFolder(CUDA_FOLDER)
}

function compile() {
  if (options.force || found?.toolchain !== wanted.toolchain) rmSync(build, { recursive: true, force: true })
  rmSync(stampFile, { force: true })
  mkdirSync(build, { recursive: true })
  const ninja = spawnSync('ninja', ['--version']).status === 0
  run(WHAT, 'cmake', [
    '-S',
    join(NATIVE, 'src', 'cuda'),
    '-B',
    build,
    ...(ninja ? ['-G', 'Ninja'] : []),
    `-DCMAKE_CUDA_COMPILER=${toolkit.nvcc}`,
    `-DCMAKE_CUDA_ARCHITECTURES=${architectures(arch)}`,
    `-DARBALEST_CUDA_INCLUDES=${toolkit.includes.join(';')}`,
    '-DCMAKE_EXPORT_COMPILE_COMMANDS=ON'
  ])
  // Compiling a kernel for many GPUs takes up to two gigabytes.
  run(WHAT, 'cmake', ['--build', build, '--parallel', String(jobs(2 ** 31))])
  writeFileSync(stampFile, JSON.stringify(wanted))
}

/** Those of this machine's GPUs, such as `90`. CMake has a `native` of its own from 3.24 on, without PTX. */
function ownArchitectures() {
  const { stdout } = spawnSync('nvidia-smi', ['--query-gpu=compute_cap', '--format=csv,noheader'], { encoding: 'utf8' })
  const numbers = new Set([...(stdout ?? '').matchAll(/^(\d+)\.(\d)$/gm)].map(([, major, minor]) => major + minor))
  if (numbers.size > 0) return [...numbers].join(',')
  process.stderr.write('--arch: received native; nvidia-smi tells of no GPU here, give its compute capability as a number such as 90\n')
  process.exit(2)
}

/** The value for CMake: machine code for each architecture, and PTX for later ones. */
function architectures(list) {
  const numbers = list.split(',')
  const wrong = numbers.find((number) => !/^\d{2,3}$/.test(number))
  if (wrong !== undefined) {
    process.stderr.write(`--arch: received ${list}; give native, or numbers such as 90 or 80,90\n`)
    process.exit(2)
  }
  return [...numbers.map((number) => `${number}-real`), `${Math.max(...numbers.map(Number))}-virtual`].join(';')
}

/** The library's sources: its own folder without the stand-in, and the headers of the rooms below it. */
function sources() {
  const headers = ['core', 'data', 'device'].flatMap((room) => sourcesIn(room)).filter((file) => /\.(h|cmake)$/.test(file))
  return [...headers, ...sourcesIn('cuda').filter((file) => !file.startsWith(join(NATIVE, 'src', 'cuda', 'host')))]
}
