import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { HostFolder } from '../../../src/run/hosts/host-folder.js'

const MODULE = new URL('../../../src/run/hosts/host-folder.js', import.meta.url).href

/** A process makes a folder, and is killed. Returns the folder's path. */
function killed(within: string): string {
  const program = `import { HostFolder } from '${MODULE}'; process.stdout.write((await HostFolder.make('${within}')).path, () => process.kill(process.pid, 'SIGKILL'))`
  return spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }).stdout
}

describe("The folder of a host's own files", () => {
  let within: string
  beforeEach(() => (within = mkdtempSync(join(tmpdir(), 'arbalest-folders-'))))
  afterEach(() => rmSync(within, { recursive: true }))

  it('is removed at its end', async () => {
    const folder = await HostFolder.make(within)
    expect(dirname(folder.path)).to.equal(within)
    expect(existsSync(folder.path)).to.equal(true)
    folder[Symbol.dispose]()
    expect(existsSync(folder.path)).to.equal(false)
  })

  it('is removed by the next process if its own was killed, and stays while that lives or is unknown', async () => {
    const left = killed(within)
    expect(existsSync(left)).to.equal(true)
    const unsigned = join(within, 'arbalest-host-unsigned')
    mkdirSync(unsigned)
    const foreign = join(within, 'arbalest-host-foreign')
    mkdirSync(foreign)
    const process = { boot: 'another machine', namespace: 'pid:[1]', started: '1' }
    writeFileSync(join(foreign, 'holder'), JSON.stringify({ pid: 1, host: 'node7', since: '2026-01-01T00:00:00.000Z', process }))
    using living = await HostFolder.make(within)
    expect(existsSync(left)).to.equal(false)
    using _ = await HostFolder.make(within)
    for (const path of [living.path, unsigned, foreign]) expect(existsSync(path), path).to.equal(true)
  })
})
