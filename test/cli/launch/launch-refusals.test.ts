import { expect } from 'chai'
import { join } from 'node:path'
import { PackageCopy } from './support/package-copy.js'

const TRAIN = ['--', 'train', '--model', 'lenet']

describe('arbalest launch', () => {
  let copy: PackageCopy
  before(() => {
    copy = new PackageCopy()
  })
  after(() => copy.remove())

  it('says which command builds MPI where it is not built', () => {
    const { status, stdout, stderr } = copy.launch(['-n', '2', ...TRAIN])
    expect(status).to.equal(1)
    expect(stdout).to.equal('')
    expect(stderr).to.match(/^BACKEND_UNAVAILABLE: launch: MPI is not built on this host; run `npx arbalest setup --mpi` on every host\n$/)
  })

  it('says where -- is missing', () => {
    const { status, stderr } = copy.launch(['-n', '2', 'train', '--model', 'lenet'])
    expect(status).to.equal(2)
    expect(stderr).to.equal(
      "UNKNOWN_NAME: unknown option '--model'; put -- before train, whose options follow it: arbalest launch -n 2 -- train ...\n"
    )
  })

  describe('where MPI is built', () => {
    before(() => {
      copy.buildMpi('Open MPI', '5.0.11')
      copy.program('mpirun', 'mpirun (Open MPI) 5.0.11')
      copy.program('srun', 'slurm-wlm 22.05.8')
    })

    function line(args: readonly string[], env?: Readonly<Record<string, string>>): string {
      const { status, stdout, stderr } = copy.launch([...args, '--dry-run', ...TRAIN], env)
      expect(status, stderr).to.equal(0)
      return stdout
    }

    it('--dry-run shows the command line, and starts nothing', () => {
      const shown = line(['-n', '2'])
      expect(shown).to.match(
        /^# 2 processes on localhost\n'[^']+mpirun' --bind-to none .*-n 2 --host localhost:2 .* train --model lenet\n$/
      )
      expect(shown).to.include(`'${join(copy.folder, 'bin/arbalest.js')}' train`)
    })

    it('shows the help of the training where that is asked for, and starts nothing', () => {
      const { status, stdout } = copy.launch(['-n', '2', '--', 'train', '--help'])
      expect(status).to.equal(0)
      expect(stdout).to.match(/^Usage: train .*--learners/s)
    })

    it('--json gives it as words, and goes to the training too', () => {
      const { stdout } = copy.launch(['-n', '2', '--dry-run', '--json', ...TRAIN])
      const shown = JSON.parse(stdout) as { event: string; processes: number; hosts: unknown; line: string[] }
      expect(shown).to.deep.include({ event: 'launch', processes: 2, hosts: [{ name: 'localhost', slots: 2 }] })
      expect(shown.line.slice(-4)).to.deep.equal(['train', '--model', 'lenet', '--json'])
    })

    it('--hostfile gives the hosts, and as many processes as they take', () => {
      const hosts = copy.file('hosts', 'node1 slots=2\nnode2\n')
      expect(line(['--hostfile', hosts])).to.match(/^# 3 processes on node1, node2\n.* -n 3 --host node1:2,node2:1 /)
      expect(line(['--hostfile', hosts, '-n', '2'])).to.include(' -n 2 --host node1:1,node2:1 ')
    })

    it('--hubs adds processes on the last slots, and tells all how many they are', () => {
      expect(line(['-n', '2', '--hubs', '1'])).to.match(/^# 3 processes on localhost\n.* -n 3 --host localhost:3 .* -x ARBALEST_HUBS /)
      const hosts = copy.file('hosts', 'node1 slots=2\nnode2\n')
      expect(line(['--hostfile', hosts, '--hubs', '1'])).to.include(' -n 3 --host node1:2,node2:1 ')
      const { status, stderr } = copy.launch(['--hostfile', hosts, '--hubs', '3', ...TRAIN])
      expect(status).to.equal(2)
      expect(stderr).to.match(/^INVALID_OPTION: --hubs: received 3; use at most 2: there are 3 slots/)
    })

    it('tells a training the racks of its hosts, unless it is given others', () => {
      const hosts = copy.file('hosts', 'node1 slots=2 rack=a\nnode2 rack=b\n')
      expect(line(['--hostfile', hosts])).to.match(/ train --model lenet --racks '0,1;2'\n$/)
      const { stdout } = copy.launch(['--hostfile', hosts, '--dry-run', ...TRAIN, '--racks', '0;1,2'])
      expect(stdout).to.match(/ train --model lenet --racks '0;1,2'\n$/)
    })

    it('starts several jobs beside each other, and one hub behind', () => {
      const { stdout } = copy.launch(['-n', '2', '--hubs', '1', '--dry-run', ...TRAIN, ':', '-n', '3', 'train', '--model', 'mlp'])
      const job = (words: string) => `.* -x ARBALEST_TENANTS .* ${words}`
      expect(stdout).to.match(
        new RegExp(`^# 6 [^]* --with-ft ulfm ${job('train --model lenet')} : -n 3 ${job('train --model mlp')} : -n 1 ${job('hub')}\n$`)
      )
    })

    it('takes srun in an allocation of Slurm, which has the hosts', () => {
      const env = { SLURM_JOB_ID: '7', SLURM_NTASKS: '4', PATH: `${copy.folder}:${process.env['PATH']}` }
      expect(line([], env)).to.match(/^# 4 processes\n'[^']+srun' --ntasks=4 --mpi=pmix /)
    })

    const NEVER = join('no', 'such', 'file')
    const REFUSED: Readonly<Record<string, readonly [readonly string[], RegExp]>> = {
      'no number of processes': [TRAIN, /^INVALID_OPTION: --processes: received nothing; give -n .*--hostfile .*\n$/],
      'no processes': [['-n', '0', ...TRAIN], /^INVALID_OPTION: --processes: received 0; /],
      'a hostfile that is missing': [
        ['--hostfile', NEVER, ...TRAIN],
        /^INVALID_OPTION: --hostfile: received "no\/such\/file"; it cannot be read/
      ],
      'several jobs without a hub': [
        ['-n', '2', ...TRAIN, ':', 'train'],
        /^INVALID_OPTION: --hubs: received 0; give at least 1: several jobs/
      ],
      'several jobs that shall shrink': [
        ['-n', '2', '--hubs', '1', '--shrink', ...TRAIN, ':', 'train'],
        /^INVALID_OPTION: --shrink: received true; leave it out: a job that shares its hubs/
      ],
      'a job that trains nothing': [
        ['-n', '2', '--hubs', '1', ...TRAIN, ':', 'crossover'],
        /^INVALID_OPTION: command: received "crossover"; use train in job 1/
      ],
      'a job with no processes': [
        ['-n', '2', '--hubs', '1', ...TRAIN, ':', '-n', '0', 'train'],
        /^INVALID_OPTION: --processes: received "0"; give job 1 /
      ],
      'another command than train': [['-n', '2', '--', 'evaluate', 'x'], /^INVALID_OPTION: command: received "evaluate"; use train/],
      "a wrong flag of the training's": [['-n', '2', '--', 'train', '--batch', '0'], /^INVALID_OPTION: --batch: received 0; /],
      "an unknown flag of the training's": [['-n', '2', '--', 'train', '--batchh', '4'], /^UNKNOWN_NAME: .*--batchh.*--batch/],
      'a launcher that is none': [['-n', '2', '--launcher', 'cat', ...TRAIN], /^BACKEND_UNAVAILABLE: --launcher: received "cat"/]
    }
    for (const [name, [args, form]] of Object.entries(REFUSED))
      it(`refuses ${name}, in one line`, () => {
        const { status, stdout, stderr } = copy.launch(args)
        expect(stderr)
          .to.match(form)
          .and.match(/^[^\n]+\n$/)
        expect(status).to.be.oneOf([1, 2])
        expect(stdout).to.equal('')
      })

    it('refuses a hostfile that names no host, in one line', () => {
      const { status, stderr } = copy.launch(['--hostfile', copy.file('empty', '# nothing\n'), ...TRAIN])
      expect(status).to.equal(2)
      expect(stderr).to.match(/^INVALID_OPTION: --hostfile: received "[^"]+empty"; it names no host; write one host a line, [^\n]*\n$/)
    })

    it('names the hosts on which the launcher starts no process, in one line', () => {
      const launcher = copy.program('mpirun.deaf', 'mpirun (Open MPI) 5.0.11', 'case "$*" in *deaf*) exit 1;; esac')
      const hosts = copy.file('hosts', 'node1\ndeaf1\nnode2\ndeaf2\n')
      const { status, stderr } = copy.launch(['--launcher', launcher, '--hostfile', hosts, ...TRAIN])
      expect(status).to.equal(1)
      expect(stderr).to.match(/^HOST_LOST: hosts: received deaf1, deaf2, where the launcher starts no process; check the names [^\n]*\n$/)
    })

    it('names them where several jobs share a hub, too, and starts none of the jobs to find out', () => {
      const launcher = copy.program('mpirun.deaf', 'mpirun (Open MPI) 5.0.11', 'case "$*" in *deaf*|*arbalest.js*) exit 1;; esac')
      const hosts = copy.file('hosts', 'node1\ndeaf1\nnode2\n')
      const jobs = ['-n', '1', '--hubs', '1', ...TRAIN, ':', 'train', '--model', 'mlp']
      const { status, stderr } = copy.launch(['--launcher', launcher, '--hostfile', hosts, ...jobs])
      expect(status).to.equal(1)
      expect(stderr).to.match(/^HOST_LOST: hosts: received deaf1, where the launcher starts no process; check the names [^\n]*\n$/)
    })

    it('refuses the mpirun of another MPI than was built, by both names', () => {
      const other = copy.program('mpirun.other', 'mpirun.openmpi (OpenRTE) 4.1.4')
      const { status, stderr } = copy.launch(['-n', '2', '--launcher', other, ...TRAIN])
      expect(status).to.equal(1)
      expect(stderr).to.match(/^BACKEND_UNAVAILABLE: --launcher: .*Open MPI 4\.1\.4, .* built with Open MPI 5\.0\.11 .*setup --mpi\n$/)
    })

    it('refuses to go on without lost processes where MPI cannot', () => {
      const env = { SLURM_JOB_ID: '7', SLURM_NTASKS: '4', PATH: `${copy.folder}:${process.env['PATH']}` }
      const { status, stderr } = copy.launch(['--shrink', ...TRAIN], env)
      expect(status).to.equal(2)
      expect(stderr).to.match(/^INVALID_OPTION: --shrink: received true; leave it out: Slurm [^\n]*Open MPI from 5 on[^\n]*\n$/)
    })

    it('refuses a hub for several jobs', () => {
      const { status, stderr } = copy.launch(['-n', '2', '--hubs', '1', '--', 'crossover', 'a.config.ts', 'b.config.ts'])
      expect(status).to.equal(2)
      expect(stderr).to.match(/^INVALID_OPTION: --hubs: received 1; leave it out: the jobs of a crossover have the same processes[^\n]*\n$/)
    })

    it('refuses a number of processes that the hosts do not take', () => {
      const { stderr } = copy.launch(['-n', '4', '--hostfile', copy.file('hosts', 'node1 slots=2\nnode2\n'), ...TRAIN])
      expect(stderr).to.match(/^INVALID_OPTION: --processes: received 4; use at most 3, .*node1 takes 2, node2 takes 1\n$/)
    })
  })
})
