import { expect } from 'chai'
import { launcherLine, quoted, spread, type Launch } from '../../src/hosts/launcher-line.js'

const LAUNCH: Launch = {
  hosts: [
    { name: 'node1', slots: 2 },
    { name: 'node2', slots: 1 }
  ],
  processes: 3,
  program: ['node', 'arbalest.js', 'train'],
  env: { ARBALEST_DATA: '/data', NODE_OPTIONS: '--max-old-space-size=4096', HOME: '/home/me', ARBALEST_UNSET: undefined },
  isRoot: false
}

describe("A launcher's command line", () => {
  it('of Open MPI binds to no core, and passes on our variables', () => {
    const line = launcherLine({ path: '/opt/bin/mpirun', kind: 'Open MPI', version: '5.0.11' }, LAUNCH)
    expect(line.join(' ')).to.equal(
      '/opt/bin/mpirun --bind-to none --map-by slot -n 3 --host node1:2,node2:1 -x ARBALEST_DATA -x NODE_OPTIONS node arbalest.js train'
    )
  })

  it('of Open MPI leaves the others alive when a process is lost, where these go on', () => {
    const line = launcherLine({ path: 'mpirun', kind: 'Open MPI', version: '5.0.11' }, { ...LAUNCH, shrinks: true })
    expect(line.slice(0, 3)).to.deep.equal(['mpirun', '--with-ft', 'ulfm'])
  })

  it('of Open MPI starts several programs, each on processes of its own', () => {
    const programs = [
      { processes: 2, program: ['a', '--json'] },
      { processes: 1, program: ['hub'] }
    ]
    const line = launcherLine({ path: 'mpirun', kind: 'Open MPI', version: '5.0.11' }, { ...LAUNCH, env: {}, shrinks: true, programs })
    const on = '--host node1:2,node2:1'
    expect(line.join(' ')).to.equal(`mpirun --with-ft ulfm --bind-to none --map-by slot -n 2 ${on} a --json : -n 1 ${on} hub`)
  })

  it('tells the program the racks of the hosts of this start, where they have some', () => {
    const inRacks = (hosts: Launch['hosts']) =>
      launcherLine({ path: 'mpirun', kind: 'Open MPI', version: '5.0.11' }, { ...LAUNCH, hosts, tellsRacks: true })
    expect(inRacks(LAUNCH.hosts).at(-1)).to.equal('train')
    const [first, second] = LAUNCH.hosts.map((host, i) => ({ ...host, rack: `rack${i}` }))
    expect(inRacks([first!, second!]).slice(-3)).to.deep.equal(['train', '--racks', '0,1;2'])
    expect(inRacks([second!, first!]).slice(-2)).to.deep.equal(['--racks', '0;1,2'])
  })

  it('lets a program that sums by rack do without, where the hosts of this start are all in one rack', () => {
    const [one] = LAUNCH.hosts.map((host) => ({ ...host, rack: 'rack0' }))
    const inOneRack = (sumsByRack: boolean) =>
      launcherLine({ path: 'mpirun', kind: 'Open MPI', version: '5.0.11' }, { ...LAUNCH, hosts: [one!], tellsRacks: true, sumsByRack })
    expect(inOneRack(true).slice(-3)).to.deep.equal(['train', '--exchange', 'sharded'])
    expect(inOneRack(false).at(-1)).to.equal('train')
  })

  it('of Open MPI allows root where the user is root', () => {
    const line = launcherLine({ path: 'mpirun', kind: 'Open MPI', version: '4.1.4' }, { ...LAUNCH, isRoot: true })
    expect(line).to.include('--allow-run-as-root')
  })

  it('of MPICH', () => {
    const line = launcherLine({ path: 'mpiexec', kind: 'MPICH', version: '4.0.2' }, LAUNCH)
    expect(line.join(' ')).to.equal('mpiexec -n 3 -hosts node1:2,node2:1 -bind-to none node arbalest.js train')
  })

  it('of Slurm leaves the hosts to the allocation, and the plug-in to the user', () => {
    const srun = { path: 'srun', kind: 'Slurm', version: '22.05' } as const
    const rest = '--cpu-bind=none --kill-on-bad-exit=1 --unbuffered node arbalest.js train'
    expect(launcherLine(srun, { ...LAUNCH, hosts: [] }).join(' ')).to.equal(`srun --ntasks=3 --mpi=pmix ${rest}`)
    expect(launcherLine(srun, LAUNCH).join(' ')).to.equal(`srun --ntasks=3 --nodelist=node1,node2 --mpi=pmix ${rest}`)
    const own = { ...LAUNCH, hosts: [], env: { SLURM_MPI_TYPE: 'pmi2' } }
    expect(launcherLine(srun, own).join(' ')).to.equal(`srun --ntasks=3 ${rest}`)
  })

  it('is shown so that a shell reads the same words', () => {
    expect(quoted(['mpirun', '-n', '2', 'a b', "it's", '$HOME', 'x=1,2:3'])).to.equal(`mpirun -n 2 'a b' 'it'\\''s' '$HOME' x=1,2:3`)
  })

  it('is told in words', () => {
    expect(spread(LAUNCH)).to.equal('3 processes on node1, node2')
    expect(spread({ hosts: [], processes: 1 })).to.equal('1 process')
  })
})
