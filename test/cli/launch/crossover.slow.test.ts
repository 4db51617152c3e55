import { expect } from 'chai'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { usableCores } from '../../../src/engine/machine.js'
import { builtMpi } from '../../../src/engine/mpi.js'
import { skip } from '../../support/skip.js'
import { run, start } from '../support/arbalest.js'
import { trainingsWith } from './support/trainings.js'

describe('Two jobs on the devices of several processes', () => {
  let folder: string
  before(function () {
    if (!builtMpi()) skip(this, 'MPI is not built: npm run setup:mpi, npm run build:mpi')
    if (usableCores() < 2) skip(this, 'two processes need two cores')
    folder = mkdtempSync(join(tmpdir(), 'arbalest-crossover-'))
  })
  after(() => folder && rmSync(folder, { recursive: true }))

  const config = (synchroniser: string, more: object = {}) => {
    const job = {
      model: 'lenet',
      data: 'digits',
      batch: 8,
      learners: 2,
      until: { steps: 60 },
      seed: 3,
      evaluateEvery: 0.05,
      synchroniser,
      ...more
    }
    const file = join(folder, `${synchroniser}.config.mjs`)
    writeFileSync(file, `export default ${JSON.stringify(job)}`)
    return file
  }
  const launch = (...words: readonly string[]) => run(['launch', '-n', '2', '--json', '--', ...words])

  for (const policy of ['crossed', 'shared', 'sequential', 'auto'] as const)
    it(`end with the weights of each alone, bit for bit: ${policy}`, async () => {
      const configs = [config('ssgd'), config('sma'), config('local-sgd')]
      const { code, lines, stderr } = await launch('crossover', ...configs, '--policy', policy)
      expect(code, stderr).to.equal(0)
      const end = lines.at(-1) as unknown as { readonly jobs: readonly { readonly weightsSha256: string }[] }
      // One process speaks for all.
      expect(lines.filter((line) => line['event'] === 'finished' && !('job' in line))).to.have.length(1)
      for (const [i, file] of configs.entries()) {
        const alone = await launch('train', file)
        expect(alone.code, alone.stderr).to.equal(0)
        expect(end.jobs[i]!.weightsSha256, file).to.equal(alone.lines.at(-1)!['weightsSha256'])
      }
    })

  it('goes on with a job where the other one fails', async () => {
    const failing = config('slowmo', { optimiser: { learningRate: 1e30 } })
    const { code, lines } = await launch('crossover', failing, config('ssgd'), '--policy', 'crossed')
    expect(code).to.equal(1)
    expect(lines.find((line) => line['event'] === 'failed')).to.include({ job: 0, code: 'LOSS_NOT_FINITE' })
    expect(lines.find((line) => line['event'] === 'finished' && line['job'] === 1)).to.include({ reason: 'completed', hosts: 2 })
  })

  it('begins again from the checkpoints of all jobs where a process is lost', async () => {
    const kept = (rule: string) =>
      config(rule, { until: { steps: 400 }, evaluateEvery: 1000, checkpoint: { dir: join(folder, `kept-${rule}`), period: 50 } })
    const jobs = ['ssgd', 'sma'].map(kept)
    const { said, ended } = start(['launch', '-n', '2', '--json', '--', 'crossover', ...jobs, '--policy', 'crossed'])
    await said('"folder":"')
    process.kill(trainingsWith(folder).at(-1)!, 'SIGKILL')
    const { code, lines, stderr } = await ended
    expect(code, stderr).to.equal(0)
    expect(lines.filter(({ event }) => event === 'restarted')).to.have.length(1)
    expect(lines.some(({ event }) => event === 'resumed')).to.equal(true)
    const ends = lines.filter((line) => line['event'] === 'finished' && 'job' in line)
    expect(ends.map(({ job, reason }) => ({ job, reason }))).to.have.deep.members([0, 1].map((job) => ({ job, reason: 'completed' })))
  })
})
