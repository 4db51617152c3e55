// node scripts/test.js [--slow] [--no-lint] [test files] [mocha's options]
// Everything that must hold: set-up, types, format and lint, tests. All steps run though one fails, the exit code tells of any, and
// the last line is always `N passed, N failed, N skipped`: mocha's true totals.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { jobs } from './jobs.js'
import { runTestFile } from './test-file.js'

/** Bytes that suffice for a test file with the threads and processes that it starts. */
const MEMORY_OF_A_FILE = 2e9
/** Test files that measure time or load the whole machine: each runs when no other does. */
const ALONE = /\.alone\.(slow\.)?test\.ts$/
const SLOW = /\.slow\.test\.ts$/
const SLOWEST_SHOWN = 5

const root = fileURLToPath(new URL('..', import.meta.url))
const given = process.argv.slice(2)
const flags = given.filter((argument) => argument === '--slow' || argument === '--no-lint')
const named = given.filter((argument) => argument.endsWith('.test.ts')).map((path) => relative(root, join(process.cwd(), path)))
const mochaOptions = given.filter((argument) => !flags.includes(argument) && !argument.endsWith('.test.ts'))

const total = { passed: 0, failed: 0, skipped: 0 }
/** One line each, printed before the totals. */
const skipReasons = []
const failures = []
const failedTests = []
const times = []

if (step('set-up', join(root, 'scripts', 'setup'), '--dev', '--no-typescript')) {
  // One after the other: the bench package compiles against what the first has written.
  for (const project of hasBench() ? ['.', 'bench'] : ['.'])
    step(`types of ${project}`, process.execPath, join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-b', project)
  await runTests()
}

for (const text of failedTests) console.log(text)
for (const reason of skipReasons) console.log(`skipped: ${reason}`)
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

async function runTests() {
  const files = chosenFiles()
  const together = files.filter(({ source }) => !ALONE.test(source)).map((file) => () => runFile(file))
  // After the types of both packages: the rules that need types read what has just been written.
  if (!flags.includes('--no-lint')) together.unshift(lint)
  await runAll(together, jobs(MEMORY_OF_A_FILE))
  const alone = files.filter(({ source }) => ALONE.test(source)).map((file) => () => runFile(file))
  await runAll(alone, 1)
  times.sort((a, b) => b.seconds - a.seconds)
  const slowest = times.slice(0, SLOWEST_SHOWN).map(({ source, seconds }) => `${source} ${seconds.toFixed(0)} s`)
  console.log(`The slowest files: ${slowest.join(', ')}`)
}

/** Starts the tasks in order, `atOnce` at a time. */
async function runAll(tasks, atOnce) {
  const waiting = tasks.values()
  const takeTurns = async () => {
    for (const task of waiting) await task()
  }
  await Promise.all(Array.from({ length: atOnce }, takeTurns))
}

async function runFile({ source, compiled }) {
  const result = await runTestFile(compiled, { cwd: root, mochaOptions })
  const { passed, failed, skipped, faults, seconds } = result
  for (const count of Object.keys(total)) total[count] += result[count]
  skipReasons.push(...result.skipReasons)
  failures.push(...faults.map((fault) => `${source}: ${fault}`))
  if (result.failedTests !== '') failedTests.push(`${source}${result.failedTests}`)
  times.push({ source, seconds })
  // With --grep most files have nothing to say.
  if (passed + failed + skipped + faults.length > 0) console.log(`\n${source} (${seconds.toFixed(1)} s)\n${result.output.trimEnd()}`)
}

function lint() {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, 'scripts', 'lint.js')], { cwd: root, stdio: 'inherit' })
    child.on('close', (status) => {
      if (status !== 0) failures.push('format and lint')
      resolve()
    })
  })
}

/** The named files, or all but the slow ones, or all. */
function chosenFiles() {
  const files = [...testFiles('test', 'dist/test'), ...testFiles('bench/src/test', 'bench/dist/test')]
  if (named.length > 0) {
    for (const name of named) if (!files.some(({ source }) => source === name)) failures.push(`${name}: there is no such test file`)
    return files.filter(({ source }) => named.includes(source))
  }
  if (flags.includes('--slow')) return files
  const leftOut = files.filter(({ source }) => SLOW.test(source))
  if (leftOut.length > 0) console.log(`Left out without --slow: ${leftOut.map(({ source }) => source).join(', ')}`)
  return files.filter((file) => !leftOut.includes(file))
}

/** Found by their sources: tsc leaves behind what it wrote for a file that has since been deleted. */
function testFiles(sources, compiled) {
  if (!existsSync(join(root, sources))) return []
  return readdirSync(join(root, sources), { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
    .map((name) => ({ source: join(sources, name), compiled: join(compiled, name.replace(/\.ts$/, '.js')) }))
}
