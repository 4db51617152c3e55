import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { builtMpi } from '../../../src/engine/mpi.js'
import { skip } from '../../support/skip.js'
import { run, start } from '../support/arbalest.js'
import { trainingsWith } from './support/trainings.js'

const ROOT_MAY = { OMPI_ALLOW_RUN_AS_ROOT: '1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1' }

/** In the event of a checkpoint that is whole. */
const WRITTEN = '"folder":"'

/** Seconds for the hosts to meet: processes of a busy machine may start some seconds apart. */
const MEETING = '20'

describe('arbalest launch with the MPI that is built', () => {
  let folder: string
  beforeEach(function () {
    if (!builtMpi()) skip(this, 'MPI is not built: npm run setup:mpi, npm run build:mpi')
    folder = mkdtempSync(join(tmpdir(), 'arbalest-launch-'))
  })
  afterEach(() => folder && rmSync(folder, { recursive: true }))

  const train = (name: string, steps: number) =>
    `train --model mlp --learners 1 --seed 3 --steps ${steps} --checkpoint-period 50 --checkpoint-dir ${join(folder, name)} --json`.split(
      ' '
    )

  it('starts a killed process again from its newest checkpoint, and ends with the weights of an undisturbed run', async () => {
    const { said, ended } = start(['launch', '-n', '1', '--json', '--', ...train('killed', 1200)], { env: ROOT_MAY })
    await said(WRITTEN)
    process.kill(await trainingWith(folder), 'SIGKILL')
    const { code, lines, stderr } = await ended
    expect(code, stderr).to.equal(0)
    expect(stderr).to.match(/was lost \(SIGKILL\): restart 1 of 3 from the newest checkpoint, 1 process on localhost\n/)
    expect(lines.filter(({ event }) => event === 'restarted').map(({ restart }) => restart)).to.deep.equal([1])
    const alone = await run(train('alone', 1200))
    expect(lines.at(-1)).to.include({ event: 'finished', weightsSha256: alone.lines.at(-1)!['weightsSha256'] })
    expect(trainingsWith(folder)).to.deep.equal([])
  })

  for (const shrink of [[], ['--shrink']])
    it(`starts again where a process dies before the hosts have met${shrink.length > 0 ? ', and the launcher keeps the other' : ''}`, async function () {
      const { name, version } = builtMpi()!
      if (shrink.length > 0 && (name !== 'Open MPI' || parseInt(version, 10) < 5)) skip(this, 'MPI has no ULFM: npm run setup:mpi')
      const words = ['launch', '-n', '2', ...shrink, '--json', '--', ...train('early', 400), '--learners', '2']
      const { ended } = start(words, { env: { ...ROOT_MAY, ARBALEST_MEETING_SECONDS: MEETING } })
      // As soon as it runs: Node.js has yet to read the program.
      process.kill(await trainingWith(folder), 'SIGKILL')
      const { code, stderr, lines } = await ended
      expect(code, stderr).to.equal(0)
      expect(
        lines.filter(({ event }) => event === 'restarted'),
        stderr
      ).to.have.length(1)
      expect(lines.at(-1)).to.include({ event: 'finished', reason: 'completed', hosts: 2, learners: 2 })
      expect(trainingsWith(folder)).to.deep.equal([])
    })

  it('gives up after as many restarts as it may make, with the last cause', async () => {
    const { said, ended } = start(['launch', '-n', '1', '--restarts', '0', '--', ...train('given-up', 100_000)], { env: ROOT_MAY })
    await said(WRITTEN)
    process.kill(await trainingWith(folder), 'SIGKILL')
    const { code, stderr } = await ended
    expect(code).to.equal(1)
    expect(stderr).to.match(/^HOST_LOST: hosts: (?:rank 0 of 1|a process) on \S+ was lost \(SIGKILL\)[^\n]*\n$/)
  })

  it('stops the processes at a round on Ctrl-C, and leaves none behind', async () => {
    const { child, said, ended } = start(['launch', '-n', '1', '--json', '--', ...train('stopped', 100_000)], { env: ROOT_MAY })
    await said(WRITTEN)
    child.kill('SIGINT')
    const { code, lines } = await ended
    expect(code).to.equal(130)
    expect(lines.at(-1)).to.include({ event: 'finished' })
    expect(trainingsWith(folder)).to.deep.equal([])
  })
})

/** Waits for the training that `arbalest launch` has started. */
async function trainingWith(text: string): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const [pid] = trainingsWith(text)
    if (pid !== undefined) return pid
    await sleep(50)
  }
  throw new Error(`there is no training with ${text}`)
}
