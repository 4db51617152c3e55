// node scripts/release.js            makes the packages of this version in release/ and checks what is in them
// node scripts/release.js --check    makes them in a temporary folder, installs them from a registry of its own into an empty project, and trains there
//
// The last line of stdout is JSON: `packages`, and with --check `installSeconds`, `firstStepSeconds` and `testAccuracy`. Nothing is published.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const tools = join(root, 'scripts', 'release')
const MIB = 2 ** 20

const { values: options } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

if (!prepare()) process.exit(1)
const { makeEnginePackage } = await import('./release/engine-package.js')
const { makeMainPackage } = await import('./release/main-package.js')
const { faultsOf, provenanceFaults } = await import('./release/check-contents.js')
const { run } = await import('./release/run.js')

const work = mkdtempSync(join(tmpdir(), 'arbalest-release-'))
// Users other than root try what lies there.
chmodSync(work, 0o755)
try {
  const packages = await makePackages(options.check ? join(work, 'packages') : join(root, 'release'))
  const tried = options.check ? await tryPackages(packages) : {}
  console.log(JSON.stringify({ ...tried, packages: packages.map(({ name, bytes, installedBytes }) => ({ name, bytes, installedBytes })) }))
} catch (error) {
  tell(error.message)
  process.exitCode = 1
} finally {
  rmSync(work, { recursive: true })
}

/** The tools of a release, and an engine of these sources with the kernels of every instruction set. False if one of them is not to be had. */
function prepare() {
  for (const [program, from] of [
    ['patchelf', 'the package patchelf'],
    ['strip', 'the package binutils']
  ])
    if (spawnSync(program, ['--version']).error) return tell(`${program} is missing; install ${from}`)
  const current = spawnSync(process.execPath, [join(root, 'scripts', 'npm-is-current.js'), tools]).status === 0
  if (!current && !succeeds('npm', ['ci', '--prefix', tools, '--no-audit', '--no-fund', '--loglevel=error'])) return false
  return succeeds(process.execPath, [join(root, 'scripts', 'build-native.js')], { ARBALEST_KERNELS: 'all' })
}

async function makePackages(destination) {
  const engine = join(work, 'engine')
  const main = join(work, 'main')
  tell('packing the engine')
  makeEnginePackage(engine, { root, manifest, commit: run(join(root, 'scripts', 'commit.sh'), []).trim() })
  tell('packing and bundling the modules')
  await makeMainPackage(main, { root, manifest })

  tell('checking what is in them')
  const faults = [
    ...faultsOf(engine, { required: ['arbalest.node', 'libarbalest-cpu.so', 'LICENSE', 'provenance.json'], bytes: 80 * MIB }),
    ...provenanceFaults(engine),
    ...faultsOf(main, { required: ['dist/src/index.js', 'dist/src/index.d.ts', 'bin/arbalest.js', 'README.md', 'LICENSE'], bytes: 8 * MIB })
  ]
  if (faults.length > 0) throw new Error(faults.join('\n'))
  rmSync(destination, { recursive: true, force: true })
  mkdirSync(destination, { recursive: true })
  return [engine, main].map((folder) => {
    const [{ name, filename, size, unpackedSize }] = JSON.parse(
      run('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', destination], { cwd: folder })
    )
    return { name, file: join(destination, filename.replace('@', '').replace('/', '-')), bytes: size, installedBytes: unpackedSize }
  })
}

async function tryPackages(packages) {
  const { startRegistry } = await import('./release/registry.js')
  const { tryPackage } = await import('./release/trial.js')
  tell('publishing them to a registry of its own')
  const registry = await startRegistry(join(work, 'registry'))
  try {
    for (const { file } of packages) registry.publish(file)
    tell('installing them into an empty project, and training there')
    return await tryPackage(join(work, 'trial'), { url: registry.url, root })
  } finally {
    await registry.stop()
  }
}

/** Runs a program whose output is progress, which belongs on stderr. */
function succeeds(program, args, environment = {}) {
  const { status, error } = spawnSync(program, args, { stdio: ['ignore', 2, 2], env: { ...process.env, ...environment } })
  if (error) tell(`${program}: ${error.message}`)
  return status === 0
}

function tell(line) {
  process.stderr.write(`release: ${line}\n`)
}
