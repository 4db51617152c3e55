import { expect } from 'chai'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PackageCopy } from './support/package-copy.js'

/** A launcher whose processes write for a while, and say in the file `end` how they have ended: by themselves, or because they were asked to. */
const WRITING = `
[ "$1" = --version ] && exit 0
trap 'echo stopped > end; exit 0' USR2
for i in 1 2 3 4 5 6 7 8 9 10; do echo '{"event":"progress"}'; sleep 0.2; done
echo completed > end`

describe('arbalest launch whose output is lost', () => {
  let copy: PackageCopy
  before(() => {
    copy = new PackageCopy()
    copy.buildMpi('Open MPI', '5.0.11')
    copy.program('mpirun', 'mpirun (Open MPI) 5.0.11', WRITING)
  })
  after(() => copy.remove())

  const launch = (stdout: number | 'pipe'): ChildProcess =>
    spawn(process.execPath, [join(copy.folder, 'bin/arbalest.js'), 'launch', '-n', '2', '--json', '--', 'train', '--model', 'mlp'], {
      cwd: copy.folder,
      stdio: ['ignore', stdout, 'pipe']
    })
  const ended = async (child: ChildProcess) => {
    let stderr = ''
    child.stderr!.on('data', (text: Buffer) => (stderr += text.toString()))
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, stderr, end: readFileSync(join(copy.folder, 'end'), 'utf8') }
  }

  it('lets the run go on where the disk is full, and says so', async () => {
    const full = openSync('/dev/full', 'w')
    const stderr = 'WRITE_FAILED: stdout: it cannot be written (ENOSPC); the run continues without it\n'
    expect(await ended(launch(full))).to.deep.equal({ code: 1, stderr, end: 'completed\n' })
    closeSync(full)
  })

  it('stops the run at its next round where nobody reads any more', async () => {
    const child = launch('pipe')
    child.stdout!.once('data', () => child.stdout!.destroy())
    expect(await ended(child)).to.deep.equal({ code: 141, stderr: '', end: 'stopped\n' })
  })
})
