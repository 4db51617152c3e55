// node scripts/setup-mpi.js                   looks for an MPI library's mpicc (ARBALEST_MPICC, PATH), and installs Open MPI in .mpi/ if there is none
// node scripts/setup-mpi.js --own             installs Open MPI in .mpi/, from a PyPI wheel, without root; ARBALEST_MPICC=.mpi/bin/mpicc then selects it
// node scripts/setup-mpi.js --wheels FOLDER   takes the wheel from a folder, without the network
// node scripts/setup-mpi.js --optional        prints a line and exits 0 if the wheel is not available
// node scripts/setup-mpi.js --check           exits 0 if there is an mpicc, otherwise 1, and says which
import { parseArgs } from 'node:util'
import { findMpi, MPI_FOLDER, wheels } from './mpi/toolkit.js'
import { unpackWheels } from './wheels/wheels.js'

const { values: options } = parseArgs({
  options: {
    own: { type: 'boolean', default: false },
    wheels: { type: 'string' },
    optional: { type: 'boolean', default: false },
    check: { type: 'boolean', default: false }
  }
})

const say = (line) => process.stderr.write(`${line}\n`)

const found = findMpi({ own: options.own })
if (options.check || !found.missing) tell(found)
else setUp()

function tell({ name, version, mpicc, missing }) {
  say(missing === undefined ? `${name} ${version}: ${mpicc}` : `missing: ${missing}`)
  process.exitCode = missing === undefined ? 0 : 1
}

function setUp() {
  if (process.env.ARBALEST_MPICC && !options.own)
    return give(`setup:mpi: ARBALEST_MPICC: ${found.missing}; name an MPI's C compiler, or unset it`)
  const otherwise = 'install an MPI library, such as libopenmpi-dev and openmpi-bin of Debian, and name its compiler in ARBALEST_MPICC'
  if (process.arch !== 'x64') return give(`setup:mpi: the pinned wheel is for x86-64, this is ${process.arch}; ${otherwise}`)
  const reason = unpackWheels(wheels(), { folder: MPI_FOLDER, source: options.wheels, say })
  if (reason !== undefined) return give(`setup:mpi: ${reason}; give a folder that has it with --wheels, or ${otherwise}`)
  tell(findMpi({ own: true }))
}

function give(line) {
  say(options.optional ? `${line} (left out)` : line)
  process.exitCode = options.optional ? 0 : 1
}
