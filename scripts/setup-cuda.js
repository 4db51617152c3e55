// node scripts/setup-cuda.js                   installs the missing parts of the CUDA toolkit in .cuda/, from PyPI wheels, without root
// node scripts/setup-cuda.js --headers         only the parts for compiling, without the libraries cuDNN, cuBLAS and NCCL
// node scripts/setup-cuda.js --wheels FOLDER   takes the wheels from a folder, without the network
// node scripts/setup-cuda.js --optional        prints a line and exits 0 if the wheels are not available
// node scripts/setup-cuda.js --check           exits 0 if compiling is possible, otherwise 1, and lists the present and the missing parts
import { existsSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CUDA_FOLDER, findToolkit, wheels } from './cuda/toolkit.js'
import { unpackWheels } from './wheels/wheels.js'

const { values: options } = parseArgs({
  options: {
    headers: { type: 'boolean', default: false },
    wheels: { type: 'string' },
    optional: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false }
  }
})

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
  const reason = unpackWheels(wheels(), { folder: CUDA_FOLDER, source: options.wheels, headersOnly: options.headers, say })
  if (reason !== undefined) return give(`setup:cuda: ${reason}; give a folder that has the wheels with --wheels, or set CUDA_HOME`)
  // nvcc expects its libraries in the folders of an installed toolkit.
  const libraries = join(CUDA_FOLDER, 'nvidia', 'cu13', 'lib64')
  if (!existsSync(libraries)) symlinkSync('lib', libraries)
  check()
}

function give(line) {
  say(options.optional ? `${line} (left out)` : line)
  process.exitCode = options.optional ? 0 : 1
}
