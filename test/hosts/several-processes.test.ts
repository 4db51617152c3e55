import { expect } from 'chai'
import { mismatchOf, joiningProcess } from '../../src/hosts/several-processes.js'
import { refused } from '../support/codes.js'

const BUILT = { name: 'Open MPI', version: '5.0.11', mpicc: '/opt/mpi/bin/mpicc' }
const BY_OPEN_MPI = { launcher: 'mpirun of Open MPI 5.0.3', library: 'Open MPI', version: '5.0.3', rank: 1, size: 4 } as const
const BY_MPICH = { launcher: 'mpiexec of MPICH', library: 'MPICH', rank: 0, size: 2 } as const

describe('Several processes of one launcher', () => {
  it('are refused where MPI is not built, with the command that builds it', () =>
    refused('BACKEND_UNAVAILABLE', () => joiningProcess(BY_OPEN_MPI, () => undefined), '4 processes', 'setup --mpi', 'every host'))

  it('are refused if the launcher is of another MPI than was built', () =>
    refused(
      'BACKEND_UNAVAILABLE',
      () => joiningProcess(BY_MPICH, () => BUILT),
      'mpiexec of MPICH',
      'Open MPI 5.0.11 (/opt/mpi/bin/mpicc)',
      'ARBALEST_MPICC='
    ))

  it('join where MPI is built, and one process trains alone', () => {
    expect(joiningProcess(BY_OPEN_MPI, () => BUILT)).to.equal(BY_OPEN_MPI)
    expect(joiningProcess(undefined, () => undefined)).to.equal(undefined)
  })

  it('may be of another release of the same minor version', () => {
    expect(mismatchOf(BY_OPEN_MPI, BUILT)).to.equal(undefined)
    expect(mismatchOf({ ...BY_OPEN_MPI, version: '4.1.4' }, BUILT)).to.include('Open MPI 5.0.11')
  })

  it('may be of a library that is made from MPICH, or of Slurm', () => {
    expect(mismatchOf(BY_MPICH, { ...BUILT, name: 'Intel MPI', version: '2021.12' })).to.equal(undefined)
    expect(mismatchOf({ launcher: 'srun', rank: 0, size: 2 }, BUILT)).to.equal(undefined)
  })
})
