// node scripts/setup-cuda.js                   installs the missing parts of the CUDA toolkit in .cuda/, from PyPI wheels, without root
// node scripts/setup-cuda.js --headers         only the parts for compiling, without the libraries cuDNN, cuBLAS and NCCL
// node scripts/setup-cuda.js --wheels FOLDER   takes the wheels from a folder, without the network
// node scripts/setup-cuda.js --optional        prints a line and exits 0 if the wheels are not available
// node scripts/setup-cuda.js --check           exits 0 if compiling is possible, otherwise 1, and lists the present and the missing parts
//
// Every wheel is pinned by version and hash, and unpacked by itself, so that an interrupted set-up continues where it stopped.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { CUDA_FOLDER, findToolkit, wheels } from './cuda/toolkit.js'

const { values: options } = parseArgs({
  options: {
    headers: { type: 'boolean', default: false },
    wheels: { type: 'string' },
    optional: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false }
  }
})

/** Tags that any Python must accept: the wheels are unpacked and never imported. */
const PLATFORM = [28, 27, 17, 12].flatMap((minor) => ['--platform', `manylinux_2_${minor}_x86_64`])
const ANY_PYTHON = ['--python-version', '3.12', '--implementation', 'cp', '--only-binary=:all:', '--no-deps', ...PLATFORM]

const say = (line) => process.stderr.write(`${line}\n`)

if (options.check) check()
else setUp()

function check() {
  const { root, version, missing } = findToolkit()
  if (root) say(`CUDA ${version}: ${root}`)
  for (const each of missing) say(`missing: ${each}`)
  process.exitCode = missing.length === 0 ? 0 : 1
}

function setUp() {
  if (process.arch !== 'x64')
    return give(`setup:cuda: the pinned wheels are for x86-64, this is ${process.arch}; install the CUDA toolkit and set CUDA_HOME`)
  mkdirSync(join(CUDA_FOLDER, 'wheels'), { recursive: true })
  for (const wheel of wheels()) {
    const whole = join(CUDA_FOLDER, `${wheel.name}-${wheel.version}.whole`)
    const headers = join(CUDA_FOLDER, `${wheel.name}-${wheel.version}.headers`)
    if (existsSync(whole) || (options.headers && existsSync(headers))) continue
    const began = performance.now()
    const file = fetched(wheel)
    if (!file)
      return give(`setup:cuda: ${wheel.name} ${wheel.version} is not to be had; give a folder that has it with --wheels, or set CUDA_HOME`)
    const unpack = fileURLToPath(new URL('./cuda/unpack-wheel.py', import.meta.url))
    const { status, stderr } = spawnSync('python3', [unpack, file, CUDA_FOLDER, ...(options.headers ? ['--headers'] : [])], {
      encoding: 'utf8'
    })
    if (status !== 0) return give(`setup:cuda: ${wheel.name} could not be unpacked: ${stderr.trim().split('\n').at(-1)}`)
    writeFileSync(options.headers ? headers : whole, '')
    rmSync(file)
    say(`${wheel.name} ${wheel.version} ... done in ${Math.round((performance.now() - began) / 1000)}s`)
  }
  // nvcc expects its libraries in the folders of an installed toolkit.
  const libraries = join(CUDA_FOLDER, 'nvidia', 'cu13', 'lib64')
  if (!existsSync(libraries)) symlinkSync('lib', libraries)
  check()
}

/** The wheel's file, whose hash pip has checked; undefined if there is none. */
function fetched({ name, version, sha256 }) {
  const folder = join(CUDA_FOLDER, 'wheels')
  const requirement = join(folder, `${name}.txt`)
  writeFileSync(requirement, `${name}==${version} --hash=sha256:${sha256}\n`)
  const source = options.wheels === undefined ? [] : ['--no-index', '--find-links', resolve(options.wheels)]
  const { status, stderr, error } = spawnSync(
    'python3',
    ['-m', 'pip', 'download', '--quiet', '--require-hashes', ...ANY_PYTHON, ...source, '--dest', folder, '--requirement', requirement],
    { encoding: 'utf8' }
  )
  rmSync(requirement)
  if (status !== 0) {
    const reason = error
      ? 'python3 is missing'
      : ((stderr ?? '')
          .trim()
          .split('\n')
          .findLast((line) => line.startsWith('ERROR')) ?? `status ${status}`)
    say(reason)
    return undefined
  }
  const prefix = `${name.replaceAll('-', '_')}-${version}-`
  const file = readdirSync(folder).find((each) => each.toLowerCase().startsWith(prefix))
  return file && join(folder, file)
}

function give(line) {
  say(options.optional ? `${line} (left out)` : line)
  process.exitCode = options.optional ? 0 : 1
}
