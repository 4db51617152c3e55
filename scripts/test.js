// node scripts/test.js [--slow] [--no-lint] [test files] [mocha's options]
// Checks everything: set-up, types, format and lint, tests. All steps run even if one fails; the exit code reports any failure, and the last line is
// always `N passed, N failed, N skipped`: mocha's totals.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { jobs } from './jobs.js'
import { runTestFiles } from './test-file.js'

/** The memory, in bytes, of a test file with its threads and processes. */
const MEMORY_OF_A_FILE = 2e9
/** Test files that measure time or load the whole machine: each runs while no other does. */
const ALONE = /\.alone\.(slow\.)?test\.ts$/
const SLOW = /\.slow\.test\.ts$/
const EXPENSIVE_SHOWN = 10
/**
 * Folders whose files take little longer than a process takes to start: the files of each folder run in one process, one after the other, but for those of
 * LONGEST_FIRST. None of them leaves anything behind in its process, or crashes it on purpose.
 */
const IN_ONE_PROCESS = [
  'test/actors',
  'test/checkpoints',
  'test/compiler',
  'test/data',
  'test/formats',
  'test/hosts',
  'test/learner',
  'test/model',
  'test/observe',
  'test/options',
  'test/runtime',
  'test/trained',
  'test/tuner',
  'bench/src/test'
]
/**
 * Files that take more than about 15 seconds, the longest first: whether they compute or wait. They start first, so that all processes end at about the
 * same time. The seconds beside the files' names, and the last lines of a run, show what to change here.
 */
const LONGEST_FIRST = [
  'test/engine/operators.test.ts',
  'test/docs/blocks.test.ts',
  'test/run/resume.test.ts',
  'test/gpu-day.test.ts',
  'bench/src/test/record.test.ts',
  'test/oracle/oracle.test.ts',
  'test/formats',
  'test/cli/train.test.ts',
  'test/run/changes/interventions.test.ts',
  'test/cli/models/tables.test.ts',
  'test/cli/models/models.test.ts',
  'test/crossover/crossover.test.ts',
  'test/fuzz/inputs.test.ts',
  'test/engine/levels.test.ts',
  'test/run/memory/device-memory.test.ts',
  'test/cli/crossover.test.ts',
  'test/data',
  'test/runtime',
  'test/run/gpus.test.ts',
  'test/run/hosts/hub.test.ts',
  'test/run/report/steps.test.ts',
  'test/cli/launch/launch-refusals.test.ts',
  'test/run/memory/moved-vectors.test.ts',
  'test/dashboard/browser.test.ts',
  'test/run/hosts/training.test.ts',
  'test/engine/device.test.ts',
  'test/run/synchronisers.test.ts',
  'test/cli/init.test.ts',
  'test/run/hosts/lost-host.test.ts'
]

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
const costs = []

if (step('set-up', join(root, 'scripts', 'setup'), '--dev', '--no-typescript')) {
  // In this order, because the bench package compiles against the output of the first.
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
  const beside = files.filter(({ source }) => !ALONE.test(source))
  const together = processes(beside)
    .sort((a, b) => startRank(a) - startRank(b))
    .map((process) => () => runProcess(process))
  // After the types of both packages, because the rules with types read the output of the compiler.
  if (!flags.includes('--no-lint')) together.unshift(lint)
  // One more than there are cores, because many tests wait for a process to end or for a deadline.
  await runAll(together, jobs(MEMORY_OF_A_FILE) + 1)
  const alone = files.filter(({ source }) => ALONE.test(source)).map((file) => () => runProcess(oneFile(file)))
  await runAll(alone, 1)
  costs.sort((a, b) => b.processorSeconds - a.processorSeconds)
  const all = costs.reduce((sum, { processorSeconds }) => sum + processorSeconds, 0)
  const expensive = costs.slice(0, EXPENSIVE_SHOWN).map(({ source, processorSeconds }) => `${source} ${processorSeconds.toFixed(0)}`)
  console.log(`\nProcessor seconds of the test files: ${all.toFixed(0)}; the most expensive: ${expensive.join(', ')}`)
}

/** Starts the tasks in order, `atOnce` at a time. */
async function runAll(tasks, atOnce) {
  const waiting = tasks.values()
  const takeTurns = async () => {
    for (const task of waiting) await task()
  }
  await Promise.all(Array.from({ length: atOnce }, takeTurns))
}

/** What runs in each process: a file, or the files of a folder. */
function processes(files) {
  const folderOf = ({ source }) =>
    LONGEST_FIRST.includes(source) || SLOW.test(source) ? undefined : IN_ONE_PROCESS.find((folder) => source.startsWith(`${folder}/`))
  const apart = files.filter((file) => folderOf(file) === undefined)
  const within = IN_ONE_PROCESS.map((folder) => ({
    source: folder,
    compiled: files.filter((file) => folderOf(file) === folder).map(({ compiled }) => compiled)
  }))
  return [...apart.map(oneFile), ...within.filter(({ compiled }) => compiled.length > 0)]
}

function oneFile({ source, compiled }) {
  return { source, compiled: [compiled] }
}

async function runProcess({ source, compiled }) {
  const result = await runTestFiles(compiled, { cwd: root, mochaOptions })
  const { passed, failed, skipped, faults, seconds } = result
  for (const count of Object.keys(total)) total[count] += result[count]
  skipReasons.push(...result.skipReasons)
  failures.push(...faults.map((fault) => `${source}: ${fault}`))
  if (result.failedTests !== '') failedTests.push(`${source}${result.failedTests}`)
  costs.push({ source, processorSeconds: result.processorSeconds })
  // With --grep most files have no tests.
  if (passed + failed + skipped + faults.length > 0)
    console.log(`\n${source} (${seconds.toFixed(1)} s, ${result.processorSeconds.toFixed(1)} s of processors)\n${result.output.trimEnd()}`)
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

/** A stable sort by this leaves all other files in their order. */
function startRank({ source }) {
  const rank = LONGEST_FIRST.indexOf(source)
  return rank === -1 ? LONGEST_FIRST.length : rank
}

/** The named files, or all but the slow ones, or all. */
function chosenFiles() {
  const files = [...testFiles('test', 'dist/test'), ...testFiles('bench/src/test', 'bench/dist/test')]
  if (named.length > 0) {
    for (const name of named) if (!files.some(({ source }) => source === name)) failures.push(`${name}: there is no such test file`)
    return files.filter(({ source }) => named.includes(source))
  }
  if (flags.includes('--slow')) return files
  const omitted = files.filter(({ source }) => SLOW.test(source))
  if (omitted.length > 0) console.log(`Omitted without --slow: ${omitted.map(({ source }) => source).join(', ')}`)
  return files.filter((file) => !omitted.includes(file))
}

/** Searches the sources, because tsc leaves the output of deleted files behind. */
function testFiles(sources, compiled) {
  if (!existsSync(join(root, sources))) return []
  return readdirSync(join(root, sources), { recursive: true })
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
    .map((name) => ({ source: join(sources, name), compiled: join(compiled, name.replace(/\.ts$/, '.js')) }))
}
