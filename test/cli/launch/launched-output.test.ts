import { expect } from 'chai'
import { existsSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/arbalest.js'
import { PackageCopy } from './support/package-copy.js'

/** Starts what follows the hosts on its command line in a terminal of its own, as Open MPI does. */
const IN_A_TERMINAL = `
[ "$1" = --version ] && exit 0
while [ "$1" != --host ]; do shift; done
shift 2
while [ "$1" = -x ]; do shift 2; done
export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1
exec script --quiet --return --command "$(bash -c 'printf "%q " "$@"' - "$@")" /dev/null`

describe('What a launched training writes', () => {
  let copy: PackageCopy
  before(() => {
    copy = new PackageCopy()
    copy.buildMpi('Open MPI', '5.0.11')
    copy.program('mpirun', 'mpirun (Open MPI) 5.0.11', IN_A_TERMINAL)
    const [from, to] = [join(ROOT, 'native/build/Release'), join(copy.folder, 'native/build/Release')]
    for (const name of readdirSync(from)) if (!existsSync(join(to, name))) symlinkSync(join(from, name), join(to, name))
  })
  after(() => copy.remove())

  const TRAIN = ['-n', '1', '--', 'train', '--model', 'mlp', '--learners', '1', '--steps', '20', '--seed', '3', '--no-config']

  it('has no colours and moves no cursor where it goes to a file, although the launcher gives it a terminal', () => {
    const { status, stdout, stderr } = copy.launch(TRAIN, { NO_COLOR: '' })
    expect(status, stderr).to.equal(0)
    expect(stdout).to.include('finished after')
    expect(stdout + stderr).to.not.include('\x1b')
  })

  it('has colours where those of the launch are forced', () => {
    const { status, stdout, stderr } = copy.launch(TRAIN, { NO_COLOR: '', FORCE_COLOR: '1' })
    expect(status, stderr).to.equal(0)
    expect(stdout).to.include('\x1b[32mfinished')
    expect(stdout).to.not.include('\x1b[?25l')
  })
})
