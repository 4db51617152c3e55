import { expect } from 'chai'
import { spawnSync } from 'node:child_process'

const SET = [
  'OMPI_MCA_opal_signal',
  'OMPI_MCA_memory',
  'UCX_ERROR_SIGNALS',
  'UCX_MEM_EVENTS',
  'FI_MR_CACHE_MONITOR',
  'IPATH_NO_BACKTRACE',
  'PMIX_MCA_psec'
]

/** The variables that MPI reads, right after a link on it is asked for. MPI may be built or not: the process does not wait for it. */
function variablesOfMpi(given: Readonly<Record<string, string>>): unknown {
  const body = `
    import { engine } from '${new URL('../../src/engine/native.js', import.meta.url).href}'
    engine.openHosts({ kind: 'mpi', deadline: 10 })
    process.stdout.write(JSON.stringify(${JSON.stringify(SET)}.map((name) => process.env[name])))
    process.kill(process.pid, 'SIGKILL')`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', body], {
    encoding: 'utf8',
    timeout: 60_000,
    killSignal: 'SIGKILL',
    env: { ...process.env, ...given }
  })
  expect(stdout, stderr).not.to.equal('')
  return JSON.parse(stdout)
}

describe('The environment of MPI', () => {
  it('is set when a link on it has been asked for', () =>
    expect(variablesOfMpi({})).to.deep.equal(['', '^patcher', '', 'no', 'disabled', '1', null]))

  it('keeps what the user has set', () =>
    expect(variablesOfMpi({ OMPI_MCA_memory: 'patcher', UCX_MEM_EVENTS: 'yes', PMIX_SECURITY_MODE: 'none' })).to.deep.equal([
      '',
      'patcher',
      '',
      'yes',
      'disabled',
      '1',
      'none'
    ]))
})
