import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { refused } from '../../support/codes.js'
import { ends, eventsOf, SHORT, together } from './support/together.js'

describe('A run over hosts, one of which has no room for temporary files', () => {
  let dir: string
  let before: string | undefined
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'arbalest-host-files-'))
    before = process.env['TMPDIR']
  })
  afterEach(() => {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    rmSync(dir, { recursive: true })
  })

  const options = (steps: number): TrainOptions => ({ ...SHORT, until: { steps }, checkpoint: { dir: join(dir, 'checkpoints') } })

  it('does not go on from a checkpoint, and says at once on all hosts why', async () => {
    await ends(together(options(15)))
    process.env['TMPDIR'] = join(dir, 'none')
    const began = performance.now()
    const [first, second] = together(options(30))
    await refused('WRITE_FAILED', () => first!.finished, `hosts: rank 1 (${hostname()}): `, process.env['TMPDIR'], 'TMPDIR')
    await refused('WRITE_FAILED', () => second!.finished, process.env['TMPDIR'])
    expect(performance.now() - began).below(15_000)
  })

  it('goes on without the checkpoints, and says so', async () => {
    process.env['TMPDIR'] = join(dir, 'none')
    const jobs = together(options(30))
    const events = await eventsOf(jobs[0]!)
    const checkpoints = events.filter(({ event }) => event === 'checkpoint')
    expect(checkpoints[0]).to.include({ folder: null, code: 'WRITE_FAILED' })
    expect(checkpoints[0]).to.have.property('reason').that.includes(`hosts: rank 1 (${hostname()}): `).and.includes('TMPDIR')
    expect(events.at(-1)).to.include({ event: 'finished', reason: 'completed', iterations: 30, checkpoints: 'incomplete' })
    expect((await jobs[1]!.finished).weightsSha256).to.equal((events.at(-1) as { weightsSha256: string }).weightsSha256)
  })
})
