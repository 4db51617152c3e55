// node scripts/test.js [--slow] [--no-lint] [mocha's options]
// Everything that must hold: set-up, types, format and lint, tests. All steps run though one fails, the exit code tells of any, and
// the last line is always `N passed, N failed, N skipped`: mocha's true totals.
import { fork, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const TEST_TIMEOUT_MS = 120_000
/** A test that blocks its thread is not stopped by mocha's own timeout. */
const SILENCE_MS = 3 * TEST_TIMEOUT_MS
/** After the last test nothing may keep the process alive. */
const LINGER_MS = 10_000

const root = fileURLToPath(new URL('..', import.meta.url))
const own = ['--slow', '--no-lint']
const flags = new Set(process.argv.slice(2).filter((argument) => own.includes(argument)))
const passedOn = process.argv.slice(2).filter((argument) => !own.includes(argument))
const slow = flags.has('--slow')

const total = { passed: 0, failed: 0, skipped: 0 }
const failures = []

if (step('set-up', join(root, 'scripts', 'setup'), '--dev', '--no-typescript')) {
  // One after the other: the bench package compiles against what the first has written.
  for (const project of hasBench() ? ['.', 'bench'] : ['.'])
    step(`types of ${project}`, process.execPath, join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-b', project)
  // With types: what the bench package sees of the first is what has just been written.
  if (!flags.has('--no-lint')) step('format and lint', process.execPath, join(root, 'scripts', 'lint.js'))
  await runMocha()
}

for (const failure of failures) console.log(`FAILED: ${failure}`)
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exitCode = failures.length === 0 && total.failed === 0 && total.passed > 0 ? 0 : 1

function step(name, command, ...args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: 'inherit' })
  if (status !== 0) failures.push(`${name}${error ? ` (${error.message})` : ''}`)
  return status === 0
}

function hasBench() {
  return existsSync(join(root, 'bench', 'tsconfig.json'))
}

/** Compiled tests whose source is still there: what tsc wrote for a deleted file stays behind. */
function testFiles() {
  const files = [...compiledTests('test', 'dist/test'), ...(hasBench() ? compiledTests('bench/src/test', 'bench/dist/test') : [])]
  const leftOut = slow ? [] : files.filter((file) => file.endsWith('.slow.test.js'))
  if (leftOut.length > 0) console.log(`Left out without --slow: ${leftOut.map((file) => relative(root, file)).join(', ')}`)
  return files.filter((file) => !leftOut.includes(file))
}

function compiledTests(sources, compiled) {
  if (!existsSync(join(root, sources))) return []
  return readdirSync(join(root, sources), { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
    .map((name) => join(root, compiled, name.replace(/\.ts$/, '.js')))
}

/** In a process of its own, so that a crash of the native engine costs the tests and not their count. */
function runMocha() {
  return new Promise((resolve) => {
    const mocha = fork(
      join(root, 'node_modules', 'mocha', 'bin', 'mocha.js'),
      [
        '--reporter',
        join(root, 'scripts', 'test-reporter.cjs'),
        '--timeout',
        String(TEST_TIMEOUT_MS),
        '--slow',
        '2000',
        ...passedOn,
        ...testFiles()
      ],
      { cwd: root, execArgv: ['--enable-source-maps'] }
    )
    let running = 'the start'
    let ended = false
    let timer

    const watch = (milliseconds, complaint) => {
      clearTimeout(timer)
      timer = setTimeout(() => {
        failures.push(complaint())
        mocha.kill('SIGKILL')
      }, milliseconds)
    }
    const watchSilence = () => watch(SILENCE_MS, () => `tests: nothing was heard for ${SILENCE_MS / 1000} s during ${running}`)

    watchSilence()
    mocha.on('message', (message) => {
      if (message.begun) running = message.begun
      if (message.count) total[message.count]++
      if (message.ended) {
        ended = true
        watch(LINGER_MS, () => 'tests: a thread, timer or handle of theirs kept the process alive after the last one')
      } else watchSilence()
    })
    mocha.on('close', (status, signal) => {
      clearTimeout(timer)
      if (!ended) {
        total.failed++
        failures.push(`tests: the process ended with ${signal ?? `status ${status}`} during ${running}`)
      } else if (status !== 0 && total.failed === 0 && signal === null) failures.push(`tests: mocha ended with status ${status}`)
      resolve()
    })
  })
}
