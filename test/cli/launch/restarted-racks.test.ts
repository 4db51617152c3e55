import { expect } from 'chai'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PackageCopy } from './support/package-copy.js'

/** Writes down what it starts, loses that once, and starts nothing more on the hosts in `lost`. */
const LOSING_HOSTS = `
[ "$1" = --version ] && exit 0
for last; do :; done
if [ "$last" = true ]; then
  for word; do [ -f lost ] && grep -qx "\${word%:1}" lost && exit 1; done
  exit 0
fi
echo "$*" >>started
[ -f again ] && exit 0
touch again
exit 137`

describe('A training with racks of its own that is started again', () => {
  let copy: PackageCopy
  before(() => {
    copy = new PackageCopy()
    copy.buildMpi('Open MPI', '5.0.11')
    copy.program('mpirun', 'mpirun (Open MPI) 5.0.11', LOSING_HOSTS)
    copy.file('hosts', 'node1\nnode2\nnode3\nnode4\n')
  })
  beforeEach(() => ['started', 'again', 'lost'].forEach((name) => rmSync(join(copy.folder, name), { force: true })))
  after(() => copy.remove())

  /** What follows the first flags of the training in each start. */
  function startsWithout(lost: readonly string[], more: readonly string[] = []): readonly string[] {
    if (lost.length > 0) copy.file('lost', `${lost.join('\n')}\n`)
    const train = ['train', '--model', 'mlp', '--checkpoint-dir', 'kept', '--exchange', 'racks', '--racks', '0,1;2,3']
    const { status, stderr } = copy.launch(['--hostfile', 'hosts', ...more, '--', ...train])
    expect(status, stderr).to.equal(0)
    expect(existsSync(join(copy.folder, 'again'))).to.equal(true)
    const starts = readFileSync(join(copy.folder, 'started'), 'utf8').trimEnd().split('\n')
    return starts.map((line) => /--exchange racks --racks (.*)$/.exec(line)![1]!)
  }

  it('keeps them on the same hosts', () => {
    expect(startsWithout([])).to.deep.equal(['0,1;2,3', '0,1;2,3'])
  })

  it('has those of the hosts that are left', () => {
    expect(startsWithout(['node2'])).to.deep.equal(['0,1;2,3', '0,1;2,3 --racks 0;1,2'])
  })

  it('sums in another way where these are all in one rack', () => {
    expect(startsWithout(['node3', 'node4'])).to.deep.equal(['0,1;2,3', '0,1;2,3 --racks 0,1 --exchange sharded'])
  })

  it('sums in another way on a host whose rack is not known', () => {
    copy.file('hosts', 'node1\nnode2\nnode3\nnode4\nnode5\n')
    expect(startsWithout(['node1'], ['-n', '4'])).to.deep.equal(['0,1;2,3', '0,1;2,3 --racks 0,1,2,3 --exchange sharded'])
  })
})
