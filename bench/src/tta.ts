import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openDataset } from './arbalest.js'
import { ArbalestError } from './errors.js'
import type { Bench, BenchOptions } from './bench.js'
import { engine } from './internals.js'
import { commit } from './results.js'
import { caseNamed, caseNames, type TtaCase } from './tta/cases.js'
import { findingsOf, methodsOf } from './tta/plan.js'
import { plotOf } from './tta/plot.js'
import { reportOf, RULE_TITLES, type ReportedCase } from './tta/report.js'
import { appendRecord, checkMachine, readRecords } from './tta/results-file.js'
import type { Outcome, RunRecord, RunSpec } from './tta/run.js'
import { reachedAt } from './tta/target.js'

const CHILD = fileURLToPath(new URL('tta/child.js', import.meta.url))
const RESULTS = fileURLToPath(new URL('../results', import.meta.url))
const USUAL = ['lenet', 'resnet20']

/** Epochs and seconds to a test accuracy; every finished run is kept, and a second start goes on after the last one. */
export const tta: Bench = {
  summary: 'epochs and seconds to a test accuracy: S-SGD, SMA and EA-SGD, resumable',
  filters: [`cases: ${caseNames.join(', ')} (${USUAL.join(' ')});`, 'data sets are read from the folder in ARBALEST_DATA, else ./data'],
  async run(filters, options) {
    const folder = options.out ?? RESULTS
    const cases = [...new Set(filters.length > 0 ? filters : USUAL)].map(caseNamed)
    // What is missing is told before the first run, and not after the first case.
    for (const { data } of cases) await openDataset(data)
    const deadline = performance.now() + 60_000 * (options.budget ?? Infinity)
    for (const one of cases) if (!(await runCase(one, folder, deadline, options))) break
    const report = await writeReport(folder)
    if (report !== undefined) tell(options, `Report: ${report}`)
  }
}

/** Returns whether the case is whole. */
async function runCase(one: TtaCase, folder: string, deadline: number, options: BenchOptions): Promise<boolean> {
  const file = fileOf(folder, one)
  const { processor, cores, backends } = engine.describe()
  const cpu = backends.find(({ name }) => name === 'cpu')
  const provenance = { machine: `${processor}, ${cores} cores, ${cpu?.detail}`, commit: await commit() }
  const records = [...(await readRecords(file))]
  checkMachine(file, records, provenance.machine)
  for (;;) {
    const { next, left } = findingsOf(one, records)
    if (!next) return true
    const expected = expectedSeconds(next, records)
    const remaining = (deadline - performance.now()) / 1000
    if (remaining <= expected) {
      tell(options, `${one.title}: ${left} runs are left; the budget does not hold the next one. Start again to go on.`)
      return false
    }
    const start = performance.now()
    const outcome = await made(next, remaining)
    if (!outcome) {
      tell(options, `${one.title}: ${left} runs are left; the budget ended within one, which will be made again. Start again to go on.`)
      return false
    }
    const spentSeconds = Number(((performance.now() - start) / 1000).toFixed(1))
    const record: RunRecord = { spec: next, outcome, spentSeconds, date: new Date().toISOString(), ...provenance }
    await appendRecord(file, record)
    records.push(record)
    if (options.json) process.stdout.write(`${JSON.stringify({ bench: 'tta', case: one.name, ...record })}\n`)
    tell(options, `${lineOf(record)}; ${left - 1} left`)
  }
}

/** The longest that a run with as many learners and as large batches took at this stage; 0 where there was none. */
function expectedSeconds(next: RunSpec, records: readonly RunRecord[]): number {
  const alike = records.filter(({ spec }) => spec.stage === next.stage && spec.learners === next.learners && spec.batch === next.batch)
  return Math.max(0, ...alike.map(({ spentSeconds }) => spentSeconds))
}

/** In a process of its own, with everything as new; undefined where it did not end in time. */
async function made(spec: RunSpec, seconds: number): Promise<Outcome | undefined> {
  const timeout = seconds === Infinity ? 0 : Math.ceil(1000 * seconds)
  const running = promisify(execFile)(process.execPath, [CHILD, JSON.stringify(spec)], {
    timeout,
    killSignal: 'SIGKILL',
    maxBuffer: 2 ** 26
  })
  const end = () => void running.child.kill('SIGKILL')
  process.once('exit', end)
  try {
    const { stdout } = await running
    return JSON.parse(stdout) as Outcome
  } catch (error) {
    const { killed = false, stderr = '' } = error as { killed?: boolean; stderr?: string }
    if (killed) return undefined
    throw new ArbalestError('INTERNAL', `a run of the bench failed: ${stderr.trim() || String(error)}`, { cause: error })
  } finally {
    process.off('exit', end)
  }
}

/** Of every case that has been begun, so that one report holds them all; gives its file. */
async function writeReport(folder: string): Promise<string | undefined> {
  const begun: ReportedCase[] = []
  for (const one of caseNames.map(caseNamed)) {
    const records = await readRecords(fileOf(folder, one))
    if (records.length > 0) begun.push({ one, findings: findingsOf(one, records), records })
  }
  if (begun.length === 0) return undefined
  await mkdir(folder, { recursive: true })
  for (const { one, findings } of begun)
    if (findings.measured.length >= methodsOf(one).length) await writeFile(join(folder, `tta-${one.name}.svg`), await plotOf(one, findings))
  const file = join(folder, 'tta.md')
  await writeFile(file, reportOf(begun))
  return file
}

function fileOf(folder: string, { name }: TtaCase): string {
  return join(folder, `tta-${name}.jsonl`)
}

function lineOf({ spec, outcome, spentSeconds }: RunRecord): string {
  const { rate, momentum, syncMomentum } = spec.tuning
  const at = reachedAt(outcome.points, spec.target)
  const what = at
    ? `${spec.target} after ${at.epoch.toFixed(2)} epochs, ${at.seconds.toFixed(1)} s`
    : outcome.end === 'diverged'
      ? 'diverged'
      : `not reached: ${outcome.points.at(-1)?.accuracy}`
  return (
    `${spec.stage.padEnd(8)} ${spec.model} ${RULE_TITLES[spec.rule].padEnd(6)} k${spec.learners} b${spec.batch} ` +
    `rate ${rate} momentum ${momentum} mu ${syncMomentum} seed ${spec.seed}: ${what} (${spentSeconds.toFixed(0)} s spent)`
  )
}

function tell({ json }: BenchOptions, text: string): void {
  if (!json) process.stdout.write(`${text}\n`)
}
