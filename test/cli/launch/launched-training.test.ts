import { expect } from 'chai'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { trainingOf } from '../../../src/cli/launch/launched-training.js'
import { refused } from '../../support/codes.js'

const RACKS = ['--racks', '0,1;2']

describe('A training that is launched', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'arbalest-launched-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('sums by rack, and keeps checkpoints, by its flags or its config', async () => {
    const config = join(folder, 'by-rack.json')
    writeFileSync(config, JSON.stringify({ model: 'mlp', exchange: 'racks', checkpoint: { dir: folder } }))
    const racks = [[0, 1], [2]] // prettier-ignore
    const both = { keepsCheckpoints: true, sumsByRack: true, overfits: false, racks }
    expect(await trainingOf(['train', '--config', config, ...RACKS])).to.deep.equal(both)
    expect(await trainingOf(['train', config, ...RACKS])).to.deep.equal(both)
    expect(await trainingOf(['train', '--exchange', 'racks', '--checkpoint-dir', folder, ...RACKS])).to.deep.equal(both)
    expect(await trainingOf(['train', ...RACKS])).to.deep.equal({ keepsCheckpoints: false, sumsByRack: false, overfits: false, racks })
    expect(await trainingOf(['train', config, '--exchange', 'sharded', ...RACKS])).to.include({ sumsByRack: false })
    expect(await trainingOf(['train', '--overfit', '2'])).to.include({ overfits: true })
  })

  it('of several jobs on the same devices keeps checkpoints if each job does', async () => {
    const config = (name: string, more: object) => {
      const file = join(folder, `${name}.json`)
      writeFileSync(file, JSON.stringify({ model: 'mlp', ...more }))
      return file
    }
    const keeping = ['a', 'b'].map((name) => config(name, { checkpoint: { dir: join(folder, name) } }))
    const other = config('c', {})
    expect(await trainingOf(['crossover', ...keeping, '--policy', 'crossed', '--json'])).to.include({ keepsCheckpoints: true })
    expect(await trainingOf(['crossover', ...keeping, other])).to.include({ keepsCheckpoints: false })
    const batch = config('d', { batch: 0 })
    await refused('INVALID_OPTION', () => trainingOf(['crossover', other, batch]), 'jobs[1].batch: received 0')
    await refused('INVALID_OPTION', () => trainingOf(['crossover', other]), 'jobs: received 1; give two or more')
    await refused('UNKNOWN_NAME', () => trainingOf(['crossover', '--bogus']), "unknown option '--bogus'; see `arbalest crossover --help`")
  })

  it('is told of a wrong flag as `arbalest train` tells of it', async () => {
    const cases = [
      ['UNKNOWN_NAME', ['--batch-size', '3'], "unknown option '--batch-size'; use --batch"],
      ['UNKNOWN_NAME', ['--bogus'], "unknown option '--bogus'; see `arbalest train --help`"],
      ['INVALID_OPTION', ['--steps'], "option '--steps <count>' argument missing; see `arbalest train --help`"],
      ['INVALID_OPTION', ['a.ts', 'b.ts'], 'too many arguments. Expected 1 argument but got 2; see `arbalest train --help`']
    ] as const
    for (const [code, words, message] of cases) await refused(code, () => trainingOf(['train', ...words]), message)
  })

  it('is none of another command', async () => {
    await refused('INVALID_OPTION', () => trainingOf(['serve']), 'command: received "serve"', 'use train or crossover')
  })
})
