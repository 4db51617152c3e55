import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { builtMpi } from '../../../src/engine/mpi.js'
import { skip } from '../../support/skip.js'
import { run, start } from '../support/arbalest.js'
import { trainingsWith } from './support/trainings.js'

/** `ARBALEST_KILLS=50` for as many. */
const KILLS = Number(process.env['ARBALEST_KILLS'] ?? 4)
/** Milliseconds from a kill to the first event of the run that goes on. */
const AGAIN = 15_000
/** Iterations for each kill. */
const STEPS = 1500

describe(`Processes of a launcher, one of which is killed ${KILLS} times`, function () {
  this.timeout(60_000 + KILLS * 60_000)
  let folder: string
  beforeEach(function () {
    if (!builtMpi()) skip(this, 'MPI is not built: npm run setup:mpi, npm run build:mpi')
    folder = mkdtempSync(join(tmpdir(), 'arbalest-kills-'))
  })
  afterEach(() => folder && rmSync(folder, { recursive: true }))

  it('train again within 15 s each time, leave no process behind, and end with the weights of an undisturbed run', async () => {
    const words = (name: string) =>
      `train --json --model mlp --learners 2 --batch 8 --seed 3 --steps ${KILLS * STEPS} --checkpoint-period 50 --checkpoint-dir`
        .split(' ')
        .concat(join(folder, name))
    const launch = (name: string) => ['launch', '-n', '2', '--json', '--restarts', String(KILLS), '--', ...words(name)]
    const { child, ended } = start(launch('killed'))
    const lines: string[] = []
    createInterface({ input: child.stdout! }).on('line', (line) => lines.push(line))
    // An event of a checkpoint that was left out, as the one before was still being written, tells of none on the disk.
    const isEvent = (line: string, name: string) => line.startsWith(`{"event":"${name}"`) && !line.includes('"folder":null')
    const event = async (name: string, from: number) => {
      const end = { seen: false }
      void ended.finally(() => (end.seen = true))
      const said = () => lines.slice(from).some((line) => isEvent(line, name))
      while (!end.seen && !said()) await sleep(10)
      if (!said()) throw new Error(`it ended without ${name}: ${(await ended).stderr}`)
    }
    const times: number[] = []
    let from = 0
    for (let kills = 0; kills < KILLS; kills++) {
      // Each run makes a checkpoint of its own before one of its processes is killed.
      await event('checkpoint', from)
      from = lines.length
      const all = trainingsWith(join(folder, 'killed'))
      expect(all).to.have.length(2)
      const killed = performance.now()
      process.kill(all[Math.floor(Math.random() * 2)]!, 'SIGKILL')
      await event('resumed', from)
      times.push(performance.now() - killed)
    }
    const { code, stderr, lines: last } = await ended
    expect(code, stderr).to.equal(0)
    expect(trainingsWith(folder)).to.deep.equal([])
    expect(Math.max(...times), `milliseconds: ${times.map(Math.round).join(', ')}`).to.be.below(AGAIN)
    const undisturbed = await run(launch('undisturbed'))
    expect(last.at(-1)!['weightsSha256']).to.equal(undisturbed.lines.at(-1)!['weightsSha256'])
    console.log(`    trained again within ${times.map((time) => (time / 1000).toFixed(1)).join(', ')} s`)
  })
})
