import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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
    // What is no flag of theirs would begin the work of another command.
    for (const script of ['build-native.js', 'lint.js', 'docs.js']) {
      const told = spawnSync(process.execPath, [join(ROOT, 'scripts', script), '--chek'], { encoding: 'utf8' })
      expect(told.status, script).to.equal(1)
      expect(told.stderr, script).to.include("'--chek'")
    }
  })

  it('refuses a Node that is too old, by its version', () => {
    const { status, stderr } = setUpWith({ node: 'echo v20.18.3', npm: 'true' })
    expect(status).to.equal(1)
    expect(stderr).to.match(/^SETUP_FAILED: Node\.js: received v20\.18\.3; use 20\.19 /)
  })

  it('says what is missing where it may not install', () => {
    const { status, stderr } = setUpWith({ node: 'case "$*" in *--check*) exit 1;; esac; echo v22.12.0', npm: 'true' })
    expect(status).to.equal(1)
    expect(stderr).to.match(/^SETUP_FAILED: missing: g\+\+ cmake make/)
  })

  it('installs what is missing with apt-get where it may, and asks nothing', () => {
    const log = join(folder, 'apt.log')
    const { status, stderr } = setUpWith({
      node: `case "$*" in *--check*) [ -e '${log}' ];; *) echo v22.12.0;; esac`,
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

    for (const [what, version, addon, told, environment = {}] of [
      ['needs no compiler with a prebuilt engine', '0.1.0', 'ours', ''],
      ['builds an engine in the place of one of another version', '0.0.9', 'ours', 'SETUP_FAILED: missing: g++'],
      ['builds an engine in the place of one that this machine cannot open', '0.1.0', 'garbage', 'SETUP_FAILED: missing: g++'],
      ['builds an engine where npm is told to', '0.1.0', 'ours', 'SETUP_FAILED: missing: g++', { npm_config_build_from_source: 'true' }]
    ] as const)
      it(what, () => {
        const programs = { node: `exec '${process.execPath}' "$@"`, npm: 'true' }
        const install = [process.execPath, join(folder, 'scripts/install.js')] as const
        const { status, stderr } = withPrograms(
          programs,
          install,
          () => {
            writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'arbalest', version: '0.1.0', type: 'module' }))
            mkdirSync(join(folder, 'native'))
            const engine = join(folder, 'node_modules/@arbalest', `linux-${process.arch}`)
            mkdirSync(engine, { recursive: true })
            writeFileSync(join(engine, 'package.json'), JSON.stringify({ name: `@arbalest/linux-${process.arch}`, version }))
            writeFileSync(join(engine, 'provenance.json'), JSON.stringify({ version, sources: 'of a release' }))
            if (addon === 'garbage') writeFileSync(join(engine, 'arbalest.node'), addon)
            else symlinkSync(join(ROOT, 'native/build/Release/arbalest.node'), join(engine, 'arbalest.node'))
            for (const name of ['cmake-js', 'node-addon-api', 'node-api-headers'])
              symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
          },
          environment
        )
        expect(status).to.equal(0)
        expect(stderr.slice(0, 26)).to.equal(told)
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
          'building the native engine for this processor; this takes a few minutes',
          `the native engine ${outcome}`
        ])
      })

    it('does nothing where npm installs the packages of a checkout, which waits for npm', () => {
      writeFileSync(join(folder, 'tsconfig.json'), '{}')
      const { status, stderr } = withPrograms({}, [process.execPath, join(folder, 'scripts/install.js')])
      expect([status, stderr]).to.deep.equal([0, ''])
    })
  })

  describe('of a checkout', () => {
    /** Set-up where release/ has a package with this engine, built from sources with this hash: their own, if left out. */
    const setUpWithRelease = ({
      sources = '',
      addon = join(ROOT, 'native/build/Release/arbalest.node'),
      environment = {}
    }: {
      sources?: string
      addon?: string
      environment?: Readonly<Record<string, string>>
    }): Outcome =>
      withPrograms(
        { node: `exec '${process.execPath}' "$@"`, npm: 'echo npm >&2; exit 1', tar: `PATH=/usr/bin:/bin exec tar "$@"` },
        [join(folder, 'scripts/setup'), '--no-typescript', '--no-system'],
        () => {
          writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'arbalest', version: '0.1.0', type: 'module' }))
          writeFileSync(join(folder, 'tsconfig.json'), '{}')
          for (const each of ['native', 'node_modules', 'release', 'package']) mkdirSync(join(folder, each))
          writeFileSync(join(folder, 'native/engine.cpp'), 'int main() {}')
          for (const lock of ['package-lock.json', 'node_modules/.package-lock.json'])
            writeFileSync(join(folder, lock), JSON.stringify({ packages: {} }))
          for (const name of ['cmake-js', 'node-addon-api', 'node-api-headers'])
            symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name))
          const own = spawnSync(process.execPath, [join(folder, 'scripts/build-native.js'), '--sources'], {
            encoding: 'utf8'
          }).stdout.trim()
          expect(own).to.match(/^[0-9a-f]{64}$/)
          const write = (name: string, content: object) => writeFileSync(join(folder, 'package', name), JSON.stringify(content))
          write('package.json', { name: `@arbalest/linux-${process.arch}`, version: '0.1.0' })
          write('provenance.json', { version: '0.1.0', sources: sources === '' ? own : sources })
          symlinkSync(addon, join(folder, 'package/arbalest.node'))
          const file = join(folder, `release/arbalest-linux-${process.arch}-0.1.0.tgz`)
          expect(spawnSync('tar', ['-czf', file, '-C', folder, 'package']).status).to.equal(0)
        },
        environment
      )
    const engine = () => join(folder, `node_modules/@arbalest/linux-${process.arch}`)

    it('needs no compiler, no root and no npm with a prebuilt engine of the same sources', () => {
      const { status, stdout, stderr } = setUpWithRelease({})
      expect([status, stdout, stderr]).to.deep.equal([0, '', 'native engine ... prebuilt\n'])
      expect(readdirSync(engine()).sort()).to.deep.equal(['arbalest.node', 'package.json', 'provenance.json'])
      expect(readdirSync(join(folder, 'node_modules/@arbalest'))).to.have.length(1)
    })

    it('builds the engine where the prebuilt one is of other sources', () => {
      const told = /^SETUP_FAILED: missing: g\+\+/m
      const other = setUpWithRelease({ sources: '0'.repeat(64) })
      expect([other.status, other.stderr]).to.satisfy(([status, stderr]: [number, string]) => status === 1 && told.test(stderr))
      expect(existsSync(engine()), 'nothing is unpacked').to.equal(false)
    })

    it('says that the package which ARBALEST_PREBUILT names is of no use', () => {
      const { status, stderr } = setUpWithRelease({ environment: { ARBALEST_PREBUILT: '/nowhere/engine.tgz' } })
      expect(status).to.equal(1)
      expect(stderr).to.match(
        /^ARBALEST_PREBUILT: received \/nowhere\/engine\.tgz; the engine is built instead: .*\nSETUP_FAILED: missing: g\+\+/
      )
    })
  })

  describe('of the benches', () => {
    /** A bench where nothing but the engine is missing: what it says, and what Node was started with. */
    function bench(...args: readonly string[]): Outcome & { readonly started: string } {
      const log = join(folder, 'node.log')
      const programs = {
        node: `echo "$*" >>'${log}'\ncase "$1" in -*|*build-native.js) exec '${process.execPath}' "$@";; esac`,
        npm: 'true'
      }
      const outcome = withPrograms(programs, [join(folder, 'scripts/bench'), ...args], () =>
        writeFileSync(join(folder, 'tsconfig.json'), '{}')
      )
      return { ...outcome, started: readFileSync(log, 'utf8') }
    }

    for (const args of [['--help'], ['throughput', '--help'], []])
      it(`builds nothing but TypeScript for the usage: \`npm run bench -- ${args.join(' ')}\``, () => {
        const { status, stderr, started } = bench(...args)
        expect([status, stderr]).to.deep.equal([0, ''])
        expect(started).to.not.include('build-native.js')
        expect(started.trimEnd().split('\n').slice(-3)).to.deep.equal([
          'node_modules/typescript/bin/tsc -b .',
          'node_modules/typescript/bin/tsc -b bench',
          ['bench/dist/main.js', ...args].join(' ')
        ])
      })

    it('wants the engine for a bench, without the parts that only tests use', () => {
      const { status, stderr, started } = bench('throughput')
      expect(status).to.equal(1)
      expect(stderr).to.match(/^SETUP_FAILED: missing: g\+\+/)
      expect(started).to.match(/^scripts\/build-native\.js --check$/m)
      expect(started).to.not.include('main.js').and.not.include('--tests')
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
    prepare: () => void = () => {},
    environment: Readonly<Record<string, string>> = {}
  ): Outcome {
    cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true, filter: (path) => !path.endsWith('node_modules') })
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    for (const tool of TOOLS) symlinkSync(spawnSync('which', [tool], { encoding: 'utf8' }).stdout.trim(), join(bin, tool))
    for (const [name, line] of Object.entries(programs)) writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 })
    prepare()
    return spawnSync(program, args, { env: { PATH: bin, HOME: folder, ...environment }, encoding: 'utf8' })
  }
})
