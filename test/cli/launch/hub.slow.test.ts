import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtMpi } from '../../../src/engine/mpi.js'
import { skip } from '../../support/skip.js'
import { run, start } from '../support/arbalest.js'
import { rankOf, trainingsWith } from './support/trainings.js'

const OPTIMISERS: Readonly<Record<string, readonly string[]>> = {
  'ssgd with momentum': ['--sync', 'ssgd'],
  'ssgd with Adam': ['--sync', 'ssgd', '--optimiser', 'adam'],
  sma: ['--sync', 'sma'],
  'local-sgd': ['--sync', 'local-sgd'],
  diloco: ['--sync', 'diloco', '--period', '10']
}

describe('Processes of a launcher and their hub', () => {
  let folder: string
  beforeEach(function () {
    if (!builtMpi()) skip(this, 'MPI is not built: npm run setup:mpi, npm run build:mpi')
    folder = mkdtempSync(join(tmpdir(), 'arbalest-hub-'))
  })
  afterEach(() => folder && rmSync(folder, { recursive: true }))

  const train = (steps: number, ...more: readonly string[]) =>
    ['train', '--json', '--model', 'lenet', '--learners', '4', '--batch', '8', '--seed', '3', '--steps', String(steps)].concat(more)
  const launch = (hubs: number, words: readonly string[]) => ['launch', '-n', '2', '--hubs', String(hubs), '--json', '--', ...words]

  for (const [name, words] of Object.entries(OPTIMISERS))
    it(`end with the weights of processes without one: ${name}`, async () => {
      const hashes: unknown[] = []
      for (const hubs of [0, 1, 2]) {
        const { code, lines, stderr } = await run(launch(hubs, train(40, ...words)))
        expect(code, stderr).to.equal(0)
        expect(lines.at(-1)).to.include({ event: 'finished', hosts: 2, learners: 4 })
        expect(lines.filter(({ event }) => event === 'finished')).to.have.length(1)
        hashes.push(lines.at(-1)!['weightsSha256'])
      }
      expect(new Set(hashes).size).to.equal(1)
    })

  for (const [who, rank] of [
    ['the hub', 2],
    ['a process that trains', 1]
  ] as const)
    it(`train again from the newest checkpoint after a kill -9 of ${who}, to the weights of an undisturbed run`, async () => {
      const words = (name: string) => train(600, '--sync', 'ssgd', '--checkpoint-period', '50', '--checkpoint-dir', join(folder, name))
      const { said, ended } = start(launch(1, words('killed')))
      await said('"folder":"')
      const all = trainingsWith(join(folder, 'killed'))
      expect(all).to.have.length(3)
      process.kill(
        all.find((pid) => rankOf(pid) === rank)!,
        'SIGKILL'
      )
      await said('"event":"resumed"')
      const { code, lines, stderr } = await ended
      expect(code, stderr).to.equal(0)
      const undisturbed = await run(launch(1, words('undisturbed')))
      expect(lines.at(-1)!['weightsSha256']).to.equal(undisturbed.lines.at(-1)!['weightsSha256'])
      expect(trainingsWith(folder)).to.deep.equal([])
    })

  it('stop together on Ctrl-C, with a checkpoint', async () => {
    const { child, said, ended } = start(launch(1, train(100_000, '--checkpoint-dir', join(folder, 'run'))))
    await said('"event":"progress"')
    child.kill('SIGINT')
    const { code, lines } = await ended
    expect(code).to.equal(130)
    expect(lines.at(-1)).to.include({ event: 'finished', reason: 'stopped' })
    expect(trainingsWith(folder)).to.deep.equal([])
  })
})
