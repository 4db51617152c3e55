import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { checkSaved, RESULTS, saveCase, saveResults } from '../results.js'

interface Saved {
  readonly machine: { readonly cores: number }
  readonly results: readonly { readonly case: string; readonly ratio: number; readonly commit: string; readonly date: string }[]
}

describe('results of cases', () => {
  const name = `test-${process.pid}`,
    file = join(RESULTS, `${name}.json`)
  const saved = async (): Promise<Saved> => JSON.parse(await readFile(file, 'utf8')) as Saved
  const ratios = async (): Promise<readonly (readonly [string, number])[]> => (await saved()).results.map((each) => [each.case, each.ratio])

  const result = (measured: string, ratio: number) => ({ case: measured, ratio })

  afterEach(() => rm(file, { force: true }))

  it('replace those of the same case and leave the others', async () => {
    await saveCase(name, result('a', 1))
    await saveCase(name, result('b', 2))
    await saveCase(name, result('a', 3))
    expect(await ratios()).to.deep.equal([
      ['b', 2],
      ['a', 3]
    ])
    for (const { commit, date } of (await saved()).results) {
      expect(commit).to.match(/^([0-9a-f]{12}\+?|unknown)$/)
      expect(Date.parse(date)).to.be.closeTo(Date.now(), 60_000)
    }
  })

  it('keep the commit and the date of a file that has one for all', async () => {
    await saveResults(name, [{ case: 'a', ratio: 1 }])
    await saveCase(name, result('b', 2))
    const { results } = await saved()
    expect(results[0]).to.include({ case: 'a', ratio: 1 }).and.to.have.keys('case', 'ratio', 'commit', 'date')
  })

  it('of an earlier start stay where nothing was measured', async () => {
    await saveResults(name, [{ case: 'a', ratio: 1 }])
    await saveResults(name, [])
    expect(await ratios()).to.deep.equal([['a', 1]])
  })

  it('refuse a file that is cut off before anything is measured, and leave it as it is', async () => {
    await checkSaved(name)
    await saveCase(name, result('a', 1))
    await checkSaved(name)
    for (const text of [(await readFile(file, 'utf8')).slice(0, -20), 'null', '[]']) {
      await writeFile(file, text)
      for (const refuse of [() => checkSaved(name), () => saveCase(name, result('b', 2))])
        expect(await refuse().catch((error: unknown) => error)).to.include({ code: 'DATA_CORRUPT' })
      expect(await readFile(file, 'utf8')).to.equal(text)
    }
  })

  it('begin a new file where the old one is of another machine', async () => {
    await saveCase(name, result('a', 1))
    const { machine, ...rest } = await saved()
    await writeFile(file, JSON.stringify({ machine: { ...machine, cores: machine.cores + 1 }, ...rest }))
    await saveCase(name, result('b', 2))
    expect(await ratios()).to.deep.equal([['b', 2]])
  })
})
