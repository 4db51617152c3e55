import { mkdir, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { openDataset } from './arbalest.js'
import type { Bench, BenchOptions } from './bench.js'
import { RESULTS } from './results.js'
import { CaseFolder } from './tta/case-folder.js'
import { caseNamed, caseNames } from './tta/cases.js'
import type { Paces } from './tta/pace.js'
import { nameOf, type Step } from './tta/plan.js'
import { reportOf, RULE_TITLES } from './tta/report.js'
import type { RunRecord, RunSpec, RunStep } from './tta/run.js'
import { reachedAt } from './tta/target.js'

const USUAL = ['lenet', 'resnet20']

/** Epochs and seconds to a test accuracy. Every finished run is recorded, and the next start continues after the last one. */
export const tta: Bench = {
  summary: 'epochs and seconds to a test accuracy: S-SGD, SMA and EA-SGD, resumable',
  filters: [`cases: ${caseNames.join(', ')} (${USUAL.join(' ')});`, 'data sets are read from the folder in ARBALEST_DATA, else ./data'],
  takes: ['budget', 'out', 'pace'],
  async run(filters, options) {
    const folder = options.out ?? RESULTS
    const cases = [...new Set(filters.length > 0 ? filters : USUAL)].map(caseNamed)
    // A missing data set is an error before the first run, and not after the first case.
    for (const { data } of cases) await openDataset(data)
    const deadline = performance.now() + 60_000 * (options.budget ?? Infinity)
    for (const one of cases) if (!(await continueCase(await CaseFolder.open(one, folder), deadline, options))) break
    const report = await writeReport(folder)
    if (report !== undefined) print(options, `Report: ${report}`)
  }
}

/** Continues a case. Resolves with true when all of its runs are made. */
async function continueCase(one: CaseFolder, deadline: number, options: BenchOptions): Promise<boolean> {
  const { methods } = one.findings
  if (options.pace && methods) await one.pace('methods', methods, Infinity)
  for (;;) {
    const { next, left } = one.findings
    if (!next) return true
    const obstacle = await takeStep(one, next, deadline, options)
    if (obstacle === undefined) continue
    print(options, `${one.one.title}: ${left} runs are missing; ${obstacle}. Start the bench again to continue.`)
    return false
  }
}

/** Takes the next step and prints its results. Resolves with the reason if it could not be taken. */
async function takeStep(one: CaseFolder, next: Step, deadline: number, options: BenchOptions): Promise<string | undefined> {
  const seconds = () => (deadline - performance.now()) / 1000
  if ('set' in next) {
    const paces = await one.pace(next.set, next.specs, seconds())
    if (!paces) return 'the budget ended during the measurement of paces'
    for (const line of paceLines(paces)) print(options, line)
    return undefined
  }
  const fitting = atOnce(next.runs).filter(({ run }) => expectedSeconds(run, one.records) < seconds())
  if (fitting.length === 0) return 'the budget is too short for the next run'
  const cut = await Promise.all(
    fitting.map(async (step) => {
      const record = await one.run(step, seconds())
      if (!record) return true
      if (options.json) process.stdout.write(`${JSON.stringify({ bench: 'tta', case: one.one.name, ...record })}\n`)
      print(options, `${runLine(record)}; ${one.findings.left} left`)
      return false
    })
  )
  return cut.includes(true) ? 'the budget ended during a run, which will be repeated' : undefined
}

/** Runs like the first one, as many as there are cores for: one learner leaves the others idle, and epochs do not depend on the machine's load. */
function atOnce(runs: readonly RunStep[]): readonly RunStep[] {
  const { stage, learners } = runs[0]!.run
  const alike = runs.filter(({ run }) => run.stage === stage && run.learners === learners)
  return alike.slice(0, Math.max(1, Math.floor(availableParallelism() / learners)))
}

/** The longest time of a run of this stage with the same learners and batch; 0 without one. */
function expectedSeconds({ stage, learners, batch }: RunSpec, records: readonly RunRecord[]): number {
  const alike = records.filter(({ spec }) => spec.stage === stage && spec.learners === learners && spec.batch === batch)
  return Math.max(0, ...alike.map(({ spentSeconds }) => spentSeconds))
}

/** Writes one report of all cases that have been begun. Resolves with its path. */
async function writeReport(folder: string): Promise<string | undefined> {
  const cases = await Promise.all(caseNames.map((name) => CaseFolder.open(caseNamed(name), folder)))
  const begun = cases.filter(({ records }) => records.length > 0)
  if (begun.length === 0) return undefined
  for (const one of begun) await one.draw()
  await mkdir(folder, { recursive: true })
  const file = join(folder, 'tta.md')
  await writeFile(file, reportOf(begun))
  return file
}

function runLine({ spec, outcome, spentSeconds }: RunRecord): string {
  const { rate, momentum, syncMomentum } = spec.tuning
  const at = reachedAt(outcome.points, spec.target)
  const last = outcome.points.at(-1)
  const what = at
    ? `${spec.target} after ${at.epoch.toFixed(2)} epochs`
    : outcome.end === 'diverged'
      ? 'diverged'
      : `${outcome.end === 'givenUp' ? 'given up' : 'not reached'}: ${last?.accuracy} after ${last?.epoch.toFixed(2)} epochs`
  return (
    `${spec.stage.padEnd(8)} ${spec.model} ${RULE_TITLES[spec.rule].padEnd(6)} k${spec.learners} b${spec.batch} ` +
    `rate ${rate} momentum ${momentum} mu ${syncMomentum} seed ${spec.seed}: ${what} (${spentSeconds.toFixed(0)} s spent)`
  )
}

function paceLines({ paces }: Paces): readonly string[] {
  return paces.map((pace) => `pace     ${nameOf(pace)} b${pace.batch}: ${pace.secondsAnEpoch.join(' ')} s an epoch`)
}

function print({ json }: BenchOptions, text: string): void {
  if (!json) process.stdout.write(`${text}\n`)
}
