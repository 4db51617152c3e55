import { fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const TEST_TIMEOUT_MS = 120_000
/** Mocha's own timeout does not stop a test that blocks its thread. Such a process is killed this long after that timeout. */
const SILENCE_MS = 2 * TEST_TIMEOUT_MS
/** Of a test without a timeout: what a timer of Node's can count. */
const MOST_MS = 2 ** 31 - 1 - SILENCE_MS
/** Time after the last test in which the process must end by itself. */
const LINGER_MS = 10_000

const MOCHA = fileURLToPath(new URL('../node_modules/mocha/bin/mocha.js', import.meta.url))
const REPORTER = fileURLToPath(new URL('test-reporter.cjs', import.meta.url))

/**
 * Runs compiled test files in a mocha process of their own, so that a crash of the native engine affects the tests of these files only. Resolves with their
 * totals and output. `faults` has a line for each fault of the process: a crash, a hang, a handle that was not closed.
 */
export function runTestFiles(files, { cwd, mochaOptions, silence = SILENCE_MS }) {
  const began = performance.now()
  const colour = process.stdout.isTTY ? ['--color'] : []
  const mocha = fork(
    MOCHA,
    [
      '--reporter',
      REPORTER,
      '--timeout',
      String(TEST_TIMEOUT_MS),
      '--slow',
      '2000',
      ...colour,
      ...mochaOptions,
      ...files.map((file) => join(cwd, file))
    ],
    { cwd, env: withoutNohup(process.env), stdio: ['ignore', 'pipe', 'pipe', 'ipc'] }
  )
  const result = { passed: 0, failed: 0, skipped: 0, faults: [], skipReasons: [], failedTests: '', output: '', processorSeconds: 0 }
  let running = 'the start'
  let within = TEST_TIMEOUT_MS
  let ended = false
  let timer

  const killAfter = (milliseconds, fault) => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      result.faults.push(fault())
      mocha.kill('SIGKILL')
    }, milliseconds)
  }
  const watchSilence = () => {
    const most = within + silence
    killAfter(most, () => `nothing was heard for ${most / 1000} s during ${running}`)
  }

  watchSilence()
  for (const stream of [mocha.stdout, mocha.stderr]) stream.setEncoding('utf8').on('data', (text) => (result.output += text))
  mocha.on('message', (message) => {
    if (message.begun) running = message.begun
    if (message.within !== undefined) within = message.within === 0 ? MOST_MS : message.within
    if (message.count) result[message.count]++
    if (message.ended) {
      ended = true
      Object.assign(result, message.ended)
      killAfter(LINGER_MS, () => 'a thread, timer or handle of its tests kept the process alive after the last one')
    } else watchSilence()
  })
  return new Promise((resolve) => {
    mocha.on('close', (status, signal) => {
      clearTimeout(timer)
      if (!ended) {
        result.failed++
        result.faults.push(`the process ended with ${signal ?? `status ${status}`} during ${running}`)
      } else if (status !== 0 && result.failed === 0 && signal === null) result.faults.push(`mocha ended with status ${status}`)
      resolve({ ...result, seconds: (performance.now() - began) / 1000 })
    })
  })
}

/** The environment without the marks of nohup, which would make the runs of the tests ignore SIGHUP. */
function withoutNohup(given) {
  const env = { ...given }
  delete env['_']
  delete env['ARBALEST_IGNORED_SIGNALS']
  return env
}
