import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { skip } from './support/skip.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** What set-up itself calls, without the compilers that it looks for. */
const TOOLS = ['bash', 'cat', 'dirname', 'env', 'flock', 'grep', 'mkdir', 'sleep', 'tail', 'uname']

interface Outcome {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

describe('Set-up', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'arbalest set up '))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('refuses arguments that it does not have', () => {
    const { status, stderr } = spawnSync(join(ROOT, 'scripts/setup'), ['--fast'], { encoding: 'utf8' })
    expect(status).to.equal(2)
    expect(stderr).to.match(/received --fast; .*--dev/)
  })

  it('refuses a Node that is too old, by its version', () => {
    const { status, stderr } = setUpWith({ node: 'echo v20.18.3', npm: 'true' })
    expect(status).to.equal(1)
    expect(stderr).to.match(/^SETUP_FAILED: Node\.js: received v20\.18\.3; use 20\.19 /)
  })

  it('says what is missing where it may not install', () => {
    const { status, stderr } = setUpWith({ node: 'echo v22.12.0', npm: 'true' })
    expect(status).to.equal(1)
    expect(stderr).to.match(/^SETUP_FAILED: missing: g\+\+ cmake make/)
  })

  it('installs what is missing with apt-get where it may, and asks nothing', () => {
    const log = join(folder, 'apt.log')
    const { status, stderr } = setUpWith({
      node: 'echo v22.12.0',
      npm: 'true',
      sudo: '[ "$1" = -n ] && shift; exec "$@"',
      'apt-cache': 'true',
      'apt-get': `echo "$DEBIAN_FRONTEND $*" >>'${log}'`
    })
    expect(status, stderr).to.equal(0)
    expect(stderr).to.match(/^package lists \.\.\. done in \d+s\nsystem packages \(g\+\+ cmake make.*\) \.\.\. done in \d+s\n$/)
    const [update, install] = readFileSync(log, 'utf8').split('\n')
    expect(update).to.match(/^noninteractive .*update$/)
    expect(install).to.match(/^noninteractive .*install --yes --no-install-recommends g\+\+ cmake make/)
  })

  describe('of an installed package', () => {
    it('says what is missing and installs nothing where npm calls it, and lets the installation be', () => {
      const log = join(folder, 'apt.log')
      const programs = { node: `exec '${process.execPath}' "$@"`, npm: 'true', 'apt-get': `echo "$*" >>'${log}'` }
      const { status, stderr } = withPrograms(programs, [process.execPath, join(folder, 'scripts/install.js')])
      expect(status).to.equal(0)
      expect(stderr).to.match(/^SETUP_FAILED: missing: g\+\+ cmake make.*\n(?:sudo )?apt-get update && .*install --yes g\+\+ cmake make/)
      expect(stderr).to.include('the native engine is not built yet; run `npx arbalest setup`')
      expect(existsSync(log)).to.equal(false)
    })

    for (const [outcome, bash] of [
      ['is built', 'exit 0'],
      ['is not built yet; run `npx arbalest setup`', 'exit 1']
    ] as const)
      it(`shows on the terminal that a build is under way, and that it ${outcome}, though npm keeps the output`, function () {
        const script = spawnSync('which', ['script'], { encoding: 'utf8' }).stdout.trim()
        if (!script) return skip(this, 'script, which makes terminals, is not installed')
        const install = `'${process.execPath}' '${join(folder, 'scripts/install.js')}' >'${folder}/kept' 2>&1`
        const programs = { sh: 'exec /bin/sh "$@"' }
        const { status, stdout } = withPrograms(programs, [script, '-qec', `PATH='${folder}/fakes' ${install}`, '/dev/null'], () => {
          mkdirSync(join(folder, 'fakes'))
          writeFileSync(join(folder, 'fakes/bash'), `#!/bin/sh\n${bash}\n`, { mode: 0o755 })
        })
        expect(status, stdout).to.equal(0)
        const shown = [...stdout.matchAll(/arbalest: (.*)\r\n/g)].map(([, line]) => line)
        expect(shown).to.deep.equal([
          'building the native engine for this processor; this takes a minute or two',
          `the native engine ${outcome}`
        ])
      })

    it('does nothing where npm installs the packages of a checkout, which waits for npm', () => {
      mkdirSync(join(folder, 'src'))
      const { status, stderr } = withPrograms({}, [process.execPath, join(folder, 'scripts/install.js')])
      expect([status, stderr]).to.deep.equal([0, ''])
    })
  })

  it('looks at versions to see whether npm packages are current', () => {
    const installed = (path: string, packages: object) => {
      mkdirSync(join(folder, path, '..'), { recursive: true })
      writeFileSync(join(folder, path), JSON.stringify({ packages }))
    }
    const isCurrent = () => spawnSync(process.execPath, [join(ROOT, 'scripts/npm-is-current.js'), folder]).status === 0
    const one = { 'node_modules/one': { version: '1.0.0', integrity: 'sha512-x' } }
    installed('package-lock.json', { '': { name: 'own' }, ...one, 'node_modules/other-system': { version: '2.0.0', optional: true } })
    expect(isCurrent(), 'nothing is installed').to.equal(false)
    installed('node_modules/.package-lock.json', one)
    expect(isCurrent(), 'all but what is for other systems').to.equal(true)
    installed('node_modules/.package-lock.json', { 'node_modules/one': { version: '0.9.0', integrity: 'sha512-w' } })
    expect(isCurrent(), 'an older version').to.equal(false)
  })

  it('runs no more compilers than the memory of a container holds', () => {
    const script = (memory: string) => `
      import os from 'node:os'
      import { jobs } from ${JSON.stringify(join(ROOT, 'scripts/jobs.js'))}
      process.availableMemory = ${memory}
      console.log(jobs(2 ** 30), Math.max(1, Math.min(os.availableParallelism(), Math.floor(os.freemem() / 2 ** 30))))`
    const said = (memory: string) =>
      spawnSync(process.execPath, ['--input-type=module', '--eval', script(memory)], { encoding: 'utf8' })
        .stdout.trim()
        .split(' ')
    expect(said('() => 2 ** 31 - 1')[0]).to.equal('1')
    const [jobs, free] = said('undefined')
    expect(jobs, 'a Node that cannot tell').to.equal(free)
  })

  /** Runs a copy of the script on a machine that has TOOLS and these programs, given as lines of shell, and nothing else. */
  function setUpWith(programs: Record<string, string>): Outcome {
    return withPrograms(programs, [join(folder, 'scripts/setup')])
  }

  function withPrograms(
    programs: Record<string, string>,
    [program, ...args]: readonly [string, ...string[]],
    prepare: () => void = () => {}
  ): Outcome {
    cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true, filter: (path) => !path.endsWith('node_modules') })
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    for (const tool of TOOLS) symlinkSync(spawnSync('which', [tool], { encoding: 'utf8' }).stdout.trim(), join(bin, tool))
    for (const [name, line] of Object.entries(programs)) writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 })
    prepare()
    return spawnSync(program, args, { env: { PATH: bin, HOME: folder }, encoding: 'utf8' })
  }
})
