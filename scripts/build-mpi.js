// node scripts/build-mpi.js              compiles libarbalest-mpi.so with the mpicc that scripts/setup-mpi.js finds, unless it is current
// node scripts/build-mpi.js --optional   without an MPI library it prints a line and exits 0
// node scripts/build-mpi.js --check      exits 0 if the library is current, otherwise 1
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { hashOf, install, isInstalled, NATIVE, readStamp, run, sourcesIn } from './library-build.js'
import { findMpi } from './mpi/toolkit.js'

const { values: options } = parseArgs({
  options: {
    optional: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false },
    force: { type: 'boolean', default: false }
  }
})

const build = join(NATIVE, 'build-mpi')
const library = join(build, 'Release', 'libarbalest-mpi.so')
const probe = join(build, 'Release', 'arbalest-mpi-probe')
/** `arbalest launch` and `doctor` read it beside the library. */
const description = join(build, 'Release', 'libarbalest-mpi.json')
const stampFile = join(build, 'stamp.json')

const mpi = findMpi()
if (mpi.missing) {
  const line = `build:mpi: missing: ${mpi.missing}; run \`npx arbalest setup --mpi\``
  process.stderr.write(options.optional ? `${line} (left out)\n` : `${line}\n`)
  process.exit(options.optional && !options.check ? 0 : 1)
}

const inputs = hashOf([
  ...sourcesIn('transport', 'mpi'),
  ...sourcesIn('core').filter((file) => file.endsWith('.h')),
  join(NATIVE, 'src', 'transport', 'link.h'),
  join(NATIVE, 'src', 'device', 'interface.cmake')
])
const wanted = { inputs, toolchain: [NATIVE, mpi.mpicc, mpi.name, mpi.version].join(' | ') }
const found = readStamp(stampFile)
const current = existsSync(library) && found?.inputs === wanted.inputs && found.toolchain === wanted.toolchain

if (options.check) {
  process.exitCode = current && isInstalled(library) && isInstalled(description) ? 0 : 1
} else {
  if (options.force || !current) compile()
  install([library, description])
}

function compile() {
  if (options.force || found?.toolchain !== wanted.toolchain) rmSync(build, { recursive: true, force: true })
  rmSync(stampFile, { force: true })
  mkdirSync(build, { recursive: true })
  const ninja = spawnSync('ninja', ['--version']).status === 0
  const what = 'The MPI library'
  run(what, 'cmake', [
    '-S',
    join(NATIVE, 'src', 'transport', 'mpi'),
    '-B',
    build,
    ...(ninja ? ['-G', 'Ninja'] : []),
    `-DMPI_C_COMPILER=${mpi.mpicc}`,
    `-DARBALEST_MPI_NAME=${mpi.name}`,
    `-DARBALEST_MPI_VERSION=${mpi.version}`,
    '-DCMAKE_EXPORT_COMPILE_COMMANDS=ON'
  ])
  run(what, 'cmake', ['--build', build, '--parallel', '2'])
  writeFileSync(description, JSON.stringify({ name: mpi.name, version: mpi.version, mpicc: mpi.mpicc, probe }))
  writeFileSync(stampFile, JSON.stringify(wanted))
}
