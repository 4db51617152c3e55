import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { skip } from '../support/skip.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const RELEASE = join(ROOT, 'native/build/Release')

type NewerSymbols = (file: string, versions?: Readonly<Record<string, string>>) => readonly string[]

/** What is published runs on Debian 12, Ubuntu 22.04 and RHEL 9. A newer compiler or a call of a newer glibc would end that unseen. */
describe('The symbols that the engine asks of the system', () => {
  const libraries = readdirSync(RELEASE).filter((file) => /^(?:arbalest\.node|libarbalest-(?:cpu|kernels-\w+)\.so)$/.test(file))
  let newerSymbols: NewerSymbols

  before(async function () {
    if (spawnSync('objdump', ['--version']).status !== 0) skip(this, 'objdump is not installed')
    ;({ newerSymbols } = (await import(join(ROOT, 'scripts/release/symbols.js'))) as { newerSymbols: NewerSymbols })
  })

  for (const library of libraries)
    it(`are in glibc 2.34 and in the libstdc++ of GCC 11: ${library}`, () => {
      expect(newerSymbols(join(RELEASE, library))).to.deep.equal([])
    })

  it('are told where they are newer', () => {
    const found = newerSymbols(join(RELEASE, 'arbalest.node'), { GLIBC: '2.33', GLIBCXX: '3.4.29', CXXABI: '1.3.13' })
    expect(found).to.not.be.empty
    for (const line of found) expect(line).to.match(/^\S+ of GLIBC_2\.34$/)
  })
})
