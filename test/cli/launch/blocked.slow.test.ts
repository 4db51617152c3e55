import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtMpi } from '../../../src/engine/mpi.js'
import { launcherLine } from '../../../src/hosts/launcher-line.js'
import { launcherFor } from '../../../src/hosts/launcher-program.js'
import { skip } from '../../support/skip.js'

const HOST = fileURLToPath(new URL('./support/blocked-host.js', import.meta.url))

describe('A JavaScript thread that is blocked for ten seconds', function () {
  this.timeout(180_000)
  let folder: string
  beforeEach(function () {
    if (!builtMpi()) skip(this, 'MPI is not built: npm run setup:mpi, npm run build:mpi')
    folder = mkdtempSync(join(tmpdir(), 'arbalest-blocked-'))
  })
  afterEach(() => folder && rmSync(folder, { recursive: true }))

  for (const rank of [1, 0])
    it(`stops no round: of rank ${rank}`, () => {
      const file = join(folder, 'seen')
      const launcher = launcherFor(builtMpi()!, undefined, process.env)
      const [program, ...words] = launcherLine(launcher, {
        hosts: [{ name: 'localhost', slots: 2 }],
        processes: 2,
        program: [process.execPath, HOST, String(rank), file],
        env: process.env,
        isRoot: process.getuid?.() === 0
      })
      const { status, stderr } = spawnSync(program!, words, { encoding: 'utf8', timeout: 120_000 })
      expect(status, stderr).to.equal(0)
      const { before, after, iterations } = JSON.parse(readFileSync(file, 'utf8')) as Record<'before' | 'after' | 'iterations', number>
      // Ten of some twenty seconds.
      expect(after - before).above(iterations / 5)
      console.log(`    ${after - before} of ${iterations} rounds meanwhile`)
    })
})
