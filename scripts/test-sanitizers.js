// node scripts/test-sanitizers.js [mocha's options and files]
//
// Runs the tests of the engine, or the named ones (dist/test/...), with the addon under gcc's address and undefined-behaviour sanitizers, in a copy of
// the compiled package in native/build-sanitizers. Leaks are not checked, because Node.js itself has some.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const SANITIZERS = '-fsanitize=address,undefined -fno-sanitize=vptr -fno-sanitize-recover=undefined -fno-omit-frame-pointer'
const TIMEOUT_MS = 600_000
const NOT_BUILT = 'The native engine was not built under sanitizers; build it without them first: npm run build'

const root = fileURLToPath(new URL('..', import.meta.url))
const copy = join(root, 'native', 'build-sanitizers', 'package')
const require = createRequire(import.meta.url)

const libraries = ['libasan.so', 'libstdc++.so.6'].map(libraryOfCompiler)
build()
copyPackage()
const asked = process.argv.slice(2)
const { status, signal } = spawnSync(
  process.execPath,
  [join(root, 'node_modules', 'mocha', 'bin', 'mocha.js'), '--timeout', String(TIMEOUT_MS), ...(asked.length > 0 ? asked : engineTests())],
  {
    cwd: copy,
    stdio: 'inherit',
    env: {
      ...process.env,
      // Preloads both libraries: the sanitizer intercepts exceptions too.
      LD_PRELOAD: libraries.join(':'),
      ASAN_OPTIONS: 'detect_leaks=0',
      UBSAN_OPTIONS: 'print_stacktrace=1'
    }
  }
)
if (signal) process.stderr.write(`The tests ended with ${signal}.\n`)
process.exitCode = status ?? 1

/** The path of one of the compiler's libraries. */
function libraryOfCompiler(name) {
  const path = String(spawnSync('g++', [`-print-file-name=${name}`], { encoding: 'utf8' }).stdout ?? '').trim()
  // The compiler prints the bare name if it has no such library.
  if (path.includes('/')) return path
  return end(`The sanitizers' tests take g++ with ${name}, which is not here; install them: sudo apt-get install g++`)
}

function build() {
  const cmakeJs = join(dirname(require.resolve('cmake-js/package.json')), require('cmake-js/package.json').bin['cmake-js'])
  const built = spawnSync(
    process.execPath,
    [
      cmakeJs,
      'build',
      '--directory',
      join(root, 'native'),
      '--out',
      join(copy, 'native', 'build'),
      '--config',
      'RelWithDebInfo',
      '--parallel',
      String(availableParallelism()),
      `--CDNODE_ADDON_API_DIR=${dirname(require.resolve('node-addon-api/package.json'))}`,
      '--CDARBALEST_KERNELS=native',
      `--CDCMAKE_CXX_FLAGS=${SANITIZERS}`,
      '--CDCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g'
    ],
    { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }
  )
  if (built.status !== 0) end(NOT_BUILT)
  const standIn = ['--build', join(copy, 'native', 'build'), '--target', 'arbalest-cuda-host', '--parallel', String(availableParallelism())]
  if (spawnSync('cmake', standIn, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) end(NOT_BUILT)
}

/** Copies and does not link, because modules find the addon relative to their real path. */
function copyPackage() {
  rmSync(join(copy, 'dist'), { recursive: true, force: true })
  mkdirSync(copy, { recursive: true })
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true })
  for (const name of ['node_modules', 'scripts', 'test', 'package.json'])
    if (!existsSync(join(copy, name))) symlinkSync(join(root, name), join(copy, name))
}

/** Of a table the whole, which its slow file has. */
function engineTests() {
  const folder = join(root, 'test', 'engine')
  const names = readdirSync(folder).filter((name) => name.endsWith('.test.ts') && !name.includes('.slow.'))
  const whole = (name) => {
    const slow = name.replace(/\.test\.ts$/, '.slow.test.ts')
    const hasTable = existsSync(join(folder, slow)) && readFileSync(join(folder, slow), 'utf8').includes('seldom.tested')
    return hasTable ? slow : name
  }
  return names.map((name) => join('dist', 'test', 'engine', whole(name).replace(/\.ts$/, '.js')))
}

function end(sentence) {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}
