import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { builtMpi } from '../../src/engine/mpi.js'
import { skip } from '../support/skip.js'

/** Of those that opened MPI while variables were added in another thread, one in twenty died. */
const PROCESSES = 100

describe('Processes that read their environment while MPI is opened', () => {
  it('live', function () {
    const mpi = builtMpi()
    if (!mpi) skip(this, 'MPI is not built: npm run setup:mpi, npm run build:mpi')
    if (mpi.name === 'Open MPI' && mpi.version?.startsWith('4.')) skip(this, 'Open MPI 4 adds variables of its own while it is initialised')
    const body = `
      import { engine } from '${new URL('../../src/engine/native.js', import.meta.url).href}'
      engine.openHosts({ kind: 'mpi', deadline: 20 })
      for (const begin = performance.now(); performance.now() - begin < 250; ) for (let i = 0; i < 200; i++) void process.env.MISSING
      process.kill(process.pid, 'SIGKILL')`
    const ends = Array.from({ length: PROCESSES }, () => {
      const { signal, status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', body], { encoding: 'utf8' })
      return signal ?? `${status}: ${stderr}`
    })
    expect(ends.filter((end) => end !== 'SIGKILL')).to.deep.equal([])
  })
})
