import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'

interface Result {
  readonly passed: number
  readonly failed: number
  readonly faults: readonly string[]
}
type RunTestFiles = (
  files: readonly string[],
  options: { cwd: string; mochaOptions: readonly string[]; silence: number }
) => Promise<Result>

/** What scripts/test.js runs each test file by. */
describe('A test file in a process of its own', () => {
  let folder: string
  let runTestFiles: RunTestFiles
  before(async () => {
    const script = new URL('../../scripts/test-file.js', import.meta.url)
    ;({ runTestFiles } = (await import(script.href)) as { runTestFiles: RunTestFiles })
    folder = mkdtempSync(join(tmpdir(), 'test-file-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  /** One that blocks its thread for so many milliseconds, with that timeout of its own. */
  const blocking = async (timeout: number, milliseconds: number): Promise<Result> => {
    const body = `this.timeout(${timeout}); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${milliseconds})`
    writeFileSync(join(folder, 'blocks.cjs'), `it('blocks', function () { ${body} })`)
    return runTestFiles(['blocks.cjs'], { cwd: folder, mochaOptions: [], silence: 1000 })
  }

  it('may be silent for as long as its test has given itself', async () => {
    expect(await blocking(6000, 3000)).to.deep.include({ passed: 1, failed: 0, faults: [] })
  })

  it('is killed where its test blocks it for longer', async () => {
    const { passed, failed, faults } = await blocking(500, 60_000)
    expect({ passed, failed }).to.deep.equal({ passed: 0, failed: 1 })
    expect(faults[0]).to.equal('nothing was heard for 1.5 s during blocks')
  })
})
