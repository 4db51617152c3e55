import { expect } from 'chai'
import { isHubProcess, launchedProcess } from '../../src/hosts/launcher.js'
import { isFirstProcess } from '../../src/hosts/tenants.js'

describe('The process of a launcher', () => {
  it('of Open MPI, with its version if the launcher tells it', () => {
    const env = { OMPI_COMM_WORLD_RANK: '1', OMPI_COMM_WORLD_SIZE: '4' }
    expect(launchedProcess(env)).to.deep.equal({ launcher: 'mpirun of Open MPI', library: 'Open MPI', rank: 1, size: 4 })
    expect(launchedProcess({ ...env, OMPI_VERSION: '5.0.11' })).to.include({ launcher: 'mpirun of Open MPI 5.0.11', version: '5.0.11' })
  })

  it('of MPICH', () => {
    expect(launchedProcess({ PMI_RANK: '0', PMI_SIZE: '2' })).to.deep.equal({
      launcher: 'mpiexec of MPICH',
      library: 'MPICH',
      rank: 0,
      size: 2
    })
  })

  it('of Slurm, which knows several libraries', () => {
    const env = { SLURM_STEP_ID: '0', SLURM_PROCID: '2', SLURM_STEP_NUM_TASKS: '3' }
    expect(launchedProcess(env)).to.deep.equal({ launcher: 'srun', rank: 2, size: 3 })
    // srun --mpi=pmi2
    expect(launchedProcess({ ...env, PMI_RANK: '2', PMI_SIZE: '3' })).to.deep.equal({ launcher: 'srun', rank: 2, size: 3 })
  })

  it('is undefined if it is alone', () => {
    for (const env of [{}, { OMPI_COMM_WORLD_RANK: '0', OMPI_COMM_WORLD_SIZE: '1' }, { SLURM_JOB_ID: '7', SLURM_JOB_NUM_NODES: '4' }])
      expect(launchedProcess(env), JSON.stringify(env)).to.equal(undefined)
  })

  it('speaks on stdout if it is the first or alone', () => {
    expect(isFirstProcess({})).to.equal(true)
    expect(isFirstProcess({ OMPI_COMM_WORLD_RANK: '0', OMPI_COMM_WORLD_SIZE: '4' })).to.equal(true)
    expect(isFirstProcess({ OMPI_COMM_WORLD_RANK: '3', OMPI_COMM_WORLD_SIZE: '4' })).to.equal(false)
  })

  it('is a hub if it is one of the last that ARBALEST_HUBS counts', () => {
    const hubs = [0, 1, 2, 3].map((rank) =>
      isHubProcess({ OMPI_COMM_WORLD_RANK: String(rank), OMPI_COMM_WORLD_SIZE: '4', ARBALEST_HUBS: '2' })
    )
    expect(hubs).to.deep.equal([false, false, true, true])
    expect(isHubProcess({ OMPI_COMM_WORLD_RANK: '3', OMPI_COMM_WORLD_SIZE: '4' })).to.equal(false)
    expect(isHubProcess({ ARBALEST_HUBS: '1' })).to.equal(false)
  })
})
