import { expect } from 'chai'
import { mkdtemp, rm, writeFile, appendFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findingsOf } from '../../tta/plan.js'
import type { RunStep } from '../../tta/run.js'
import { appendRecord, readRecords } from '../../tta/results-file.js'
import { paces, record, SMALL } from './fake.js'

describe('a file of finished runs', () => {
  let folder: string
  beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), 'tta-'))))
  afterEach(() => rm(folder, { recursive: true }))

  const { next } = findingsOf(SMALL, [], { batches: paces([]) })
  const one = record((next as { runs: readonly RunStep[] }).runs[0]!.run, 2)

  it('gives back what was appended, and nothing where there is none', async () => {
    const file = join(folder, 'new', 'tta.jsonl')
    expect(await readRecords(file)).to.deep.equal([])
    appendRecord(file, one)
    appendRecord(file, { ...one, spentSeconds: 2 })
    expect(await readRecords(file)).to.deep.equal([one, { ...one, spentSeconds: 2 }])
  })

  it('drops a line that was cut off, and no other', async () => {
    const file = join(folder, 'tta.jsonl')
    appendRecord(file, one)
    await appendFile(file, JSON.stringify(one).slice(0, 40))
    expect(await readRecords(file)).to.deep.equal([one])
    appendRecord(file, { ...one, spentSeconds: 3 })
    expect(await readRecords(file)).to.deep.equal([one, { ...one, spentSeconds: 3 }])
  })

  it('tells of a line that is none', async () => {
    const file = join(folder, 'tta.jsonl')
    await writeFile(file, `{}\nhello\n{}\n`)
    const error = await readRecords(file).catch((thrown: unknown) => thrown)
    expect(error).to.include({ code: 'DATA_CORRUPT' })
    expect((error as Error).message).to.contain('line 2')
  })
})
