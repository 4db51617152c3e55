// Mocha's voice under scripts/test-file.js: a line a test. The totals, the failures with their stacks and the reasons of skipped tests go to the
// parent process, which prints them last; mocha asks for a CommonJS module here.
const { readFileSync } = require('node:fs')
const { SourceMap } = require('node:module')
const { dirname, resolve } = require('node:path')
const { format } = require('node:util')
const { reporters, Runnable, Runner } = require('mocha')

const { EVENT_HOOK_BEGIN, EVENT_RUN_END, EVENT_SUITE_BEGIN, EVENT_TEST_BEGIN, EVENT_TEST_FAIL, EVENT_TEST_PASS, EVENT_TEST_PENDING } =
  Runner.constants

module.exports = class TestReporter extends reporters.Base {
  constructor(runner, options) {
    super(runner, options)
    const skipReasons = []
    const { color, symbols } = reporters.Base
    const tell = (message) => process.send?.(message)
    const indent = (test) => '  '.repeat(test.titlePath().length)

    runner.on(EVENT_SUITE_BEGIN, (suite) => {
      if (suite.title) console.log(`${indent(suite)}${color('suite', suite.title)}`)
    })
    const tellBegin = (runnable) => tell({ begun: runnable.fullTitle(), within: runnable.timeout() })
    runner.on(EVENT_HOOK_BEGIN, tellBegin)
    runner.on(EVENT_TEST_BEGIN, tellBegin)
    // Most give themselves another time when they run.
    const { timeout } = Runnable.prototype
    Runnable.prototype.timeout = function (...given) {
      const result = timeout.apply(this, given)
      if (given.length > 0 && runner.currentRunnable === this) tell({ within: timeout.call(this) })
      return result
    }
    runner.on(EVENT_TEST_PASS, (test) => {
      const time = test.speed === 'fast' ? '' : color(test.speed, ` (${test.duration} ms)`)
      console.log(`${indent(test)}${color('checkmark', symbols.ok)} ${color('pass', test.title)}${time}`)
      tell({ count: 'passed' })
    })
    runner.on(EVENT_TEST_FAIL, (test) => {
      console.log(`${indent(test)}${color('fail', `${symbols.err} ${test.title}`)}`)
      tell({ count: 'failed' })
    })
    runner.on(EVENT_TEST_PENDING, (test) => {
      console.log(`${indent(test)}${color('pending', `- ${test.title}`)}`)
      skipReasons.push(`${test.fullTitle()}${test.skipReason ? `: ${test.skipReason}` : ''}`)
      tell({ count: 'skipped' })
    })
    runner.once(EVENT_RUN_END, () => {
      const failedTests = this.failures.length > 0 ? listed(this.failures) : ''
      tell({ ended: { skipReasons, failedTests, processorSeconds: processorSeconds() } })
    })
  }
}

/** Of this process, its threads, and those of its children that have ended: Linux's clock ticks, of which there are a hundred a second. */
function processorSeconds() {
  const [user, system, usersOfChildren, systemOfChildren] = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .slice(11, 15)
    .map(Number)
  return (user + system + usersOfChildren + systemOfChildren) / 100
}

/** The failed tests as mocha lists them. */
function listed(failures) {
  for (const { err } of failures) if (err?.stack) err.stack = withSources(err.stack)
  const { Base } = reporters
  const { consoleLog } = Base
  const lines = []
  Base.consoleLog = (...args) => lines.push(format(...args))
  Base.list(failures)
  Base.consoleLog = consoleLog
  return lines.join('\n')
}

/** A stack with places of the TypeScript. Node's --enable-source-maps would read the maps of all modules, in every thread, also where no test fails. */
function withSources(stack) {
  return stack.replace(/(?:file:\/\/)?(\/[^\s():]+\.js):(\d+):(\d+)/g, (place, file, line, column) => {
    try {
      const { originalSource, originalLine, originalColumn } = mapOf(file).findEntry(line - 1, column - 1)
      return `${resolve(dirname(file), originalSource)}:${originalLine + 1}:${originalColumn + 1}`
    } catch {
      return place
    }
  })
}

function mapOf(file) {
  return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')))
}
