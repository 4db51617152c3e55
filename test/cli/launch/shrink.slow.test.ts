import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtMpi } from '../../../src/engine/mpi.js'
import { skip } from '../../support/skip.js'
import { start } from '../support/arbalest.js'
import { rankOf, trainingsWith } from './support/trainings.js'

describe('arbalest launch --shrink', () => {
  let folder: string
  beforeEach(function () {
    const built = builtMpi()
    if (built?.name !== 'Open MPI' || parseInt(built.version, 10) < 5) skip(this, 'MPI has no ULFM: npm run setup:mpi, npm run build:mpi')
    folder = mkdtempSync(join(tmpdir(), 'arbalest-shrink-'))
  })
  afterEach(() => folder && rmSync(folder, { recursive: true }))

  const words = (steps: number) =>
    `launch -n 3 --shrink --json -- train --model mlp --learners 6 --batch 8 --seed 3 --steps ${steps} --checkpoint-period 500 --checkpoint-dir ${join(folder, 'a')}`.split(
      ' '
    )
  const kill = (rank: number) =>
    process.kill(
      trainingsWith(folder).find((pid) => rankOf(pid) === rank)!,
      'SIGKILL'
    )

  for (const rank of [1, 2])
    it(`goes on after a kill -9 of rank ${rank} of 3, to the end, without a wait until it has been silent for long`, async () => {
      const { said, ended } = start(words(3000))
      await said('"folder":"')
      kill(rank)
      const killed = performance.now()
      await said('"event":"hostLost"')
      const seconds = (performance.now() - killed) / 1000
      const { code, lines, stderr } = await ended
      expect(code, stderr).to.equal(0)
      expect(lines.filter(({ event }) => event === 'restarted')).to.deep.equal([])
      const lost = lines.find(({ event }) => event === 'hostLost')!
      expect(lost).to.include({ host: rank, hosts: 2, learners: 4 })
      expect(lost['reason']).to.not.include('silent')
      console.log(`      lost after ${seconds.toFixed(1)} s`)
      expect(lines.at(-1)).to.include({
        event: 'finished',
        reason: 'completed',
        iterations: 3000,
        hosts: 2,
        learners: 4,
        checkpoints: 'complete'
      })
      expect(trainingsWith(folder)).to.deep.equal([])
    })

  it('starts again where the first process is lost, which leads', async () => {
    const { said, ended } = start(words(3000))
    await said('"folder":"')
    kill(0)
    const { code, lines, stderr } = await ended
    expect(code, stderr).to.equal(0)
    expect(lines.filter(({ event }) => event === 'restarted')).to.have.length(1)
    expect(lines.at(-1)).to.include({ event: 'finished', hosts: 3, learners: 6 })
    expect(trainingsWith(folder)).to.deep.equal([])
  })
})
