import { ArbalestError } from '../../errors.js'
import { eachOnce, logsOf, readRuns } from '../../observe/read-runs.js'
import { differences, type OptionDifference } from '../../observe/run-differences.js'
import { distinctions } from '../../observe/run-labels.js'
import type { RecordedRun } from '../../observe/runs-of-log.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT, type ExitCode } from '../exit.js'
import { colours } from '../terminal.js'
import { count, duration, external, loss, percent, tableLines, type Column } from '../text.js'
import { commonPoints, comparedMetrics, summaryOf, type LossPoint, type MetricComparison, type RunSummary } from './compare.js'
import { checkPlotName, writeChart } from '../svg-file.js'
import { runsChart } from './plot.js'

interface RunsFlags extends CommonFlags {
  readonly run?: readonly string[]
  readonly compare?: boolean
  readonly plot?: string
}

export const defineRuns: DefineCommand = (command, { finish }) => {
  command
    .argument('[paths...]', 'logs, or folders of logs (runs)')
    .option('--run <name...>', 'only runs whose names begin with one of these')
    .option('--compare', 'show the options that differ, the last values of metrics, and training losses at common iterations')
    .option('--plot <file>', 'write losses and accuracies over epochs as an SVG')
    .action(async (paths: readonly string[], flags: RunsFlags) => finish(await runRuns(paths, flags)))
}

/** `arbalest runs`: lists the runs of logs, compares their options and plots their curves. */
async function runRuns(paths: readonly string[], { run: wanted = [], compare = false, plot, json = false }: RunsFlags): Promise<ExitCode> {
  checkPlotName(plot)
  const needsCurves = ({ run }: RecordedRun) => (compare || plot !== undefined) && isWanted(run, wanted)
  const runs = chosen(await runsIn(paths.length > 0 ? paths : ['runs'], needsCurves), wanted)
  const compared = compare && { differences: differences(runs), metrics: comparedMetrics(runs), curves: commonPoints(runs) }
  if (plot !== undefined) await writePlot(plot, runs)
  if (json) {
    for (const each of runs) process.stdout.write(`${JSON.stringify(summaryOf(each))}\n`)
    if (compared) process.stdout.write(`${JSON.stringify(compared)}\n`)
    return EXIT.done
  }
  const lines = runs.length === 0 ? ['No run is logged there.'] : summaryLines(runs)
  if (compared && runs.length > 1) lines.push(...comparisonLines(runs, compared))
  if (plot !== undefined) lines.push('', `curves in ${external(plot)}`)
  process.stdout.write(`${lines.join('\n')}\n`)
  return EXIT.done
}

/** The runs of all logs, one log after another, without the curves that are not needed: thousands of logs have more of them than memory holds. */
async function runsIn(paths: readonly string[], needsCurves: (run: RecordedRun) => boolean): Promise<RecordedRun[]> {
  const all: RecordedRun[] = []
  for (const path of paths) {
    const ofPath: RecordedRun[] = []
    for (const log of await logsOf(path))
      for (const run of await readRuns(log)) ofPath.push(needsCurves(run) ? run : { ...run, progress: run.progress.slice(-1), logged: [] })
    all.push(...ofPath.sort((a, b) => a.from - b.from))
  }
  return eachOnce(all)
}

function summaryLines(runs: readonly RecordedRun[]): string[] {
  const differs = distinctions(runs)
  return table(
    COLUMNS,
    runs.map((run, i) => ({ ...summaryOf(run), differs: differs[i]! }))
  )
}

interface RunComparison {
  readonly differences: readonly OptionDifference[]
  readonly metrics: readonly MetricComparison[]
  readonly curves: readonly LossPoint[]
}

/** The most iterations whose losses are printed; with --json there are all. */
const MOST_POINTS = 10

function comparisonLines(runs: readonly RecordedRun[], { differences: different, metrics, curves }: RunComparison): string[] {
  const options =
    different.length > 0
      ? table(
          valueColumns<OptionDifference>(runs, 'option', ({ option }) => option),
          different
        )
      : ['All options are the same.']
  const logged = table(
    valueColumns<MetricComparison>(runs, 'last value of', ({ metric }) => metric),
    metrics.map(({ metric, values }) => ({ metric, values: values.map(rounded) }))
  )
  const losses = table(lossColumns(runs), spread(curves, MOST_POINTS))
  return ['', ...options, ...(metrics.length > 0 ? ['', ...logged] : []), ...(curves.length > 0 ? ['', ...losses] : [])]
}

/** To six digits; with --json there are all. */
function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Number(value.toPrecision(6))
}

/** At most `most` of them, evenly, with the last. */
function spread<Item>(items: readonly Item[], most: number): Item[] {
  const length = Math.min(most, items.length)
  return Array.from({ length }, (_, i) => items[Math.floor(((i + 1) * items.length) / length) - 1]!)
}

/** The runs whose names begin with one of these; all runs if none is given. */
function chosen(runs: readonly RecordedRun[], wanted: readonly string[]): readonly RecordedRun[] {
  if (wanted.length === 0) return runs
  const fix =
    runs.length > 0
      ? `use the beginning of one of ${runs.map(({ run }) => run).join(', ')}`
      : 'no run is logged there: name another log or folder'
  for (const name of wanted)
    if (!runs.some(({ run }) => run.startsWith(name)))
      throw new ArbalestError('UNKNOWN_NAME', `--run: received ${JSON.stringify(name)}; ${fix}`)
  return runs.filter(({ run }) => isWanted(run, wanted))
}

function isWanted(run: string, wanted: readonly string[]): boolean {
  return wanted.length === 0 || wanted.some((name) => run.startsWith(name))
}

/** `differs`: the options that tell it from the other runs of the table, in words. */
const COLUMNS: readonly Column<RunSummary & { readonly differs: string }>[] = [
  { title: 'run', cell: ({ run }) => run, side: 'left' },
  { title: 'model', cell: ({ model }) => model, side: 'left' },
  { title: 'data', cell: ({ data }) => data, side: 'left' },
  { title: 'end', cell: ({ state }) => state, side: 'left' },
  { title: 'learners', cell: ({ learners }) => (learners === null ? '-' : String(learners)) },
  { title: 'epochs', cell: ({ epochs }) => epochs.toFixed(2) },
  { title: 'time', cell: ({ seconds }) => duration(seconds) },
  { title: 'best accuracy', cell: ({ bestAccuracy }) => (bestAccuracy === null ? '-' : percent(bestAccuracy)) },
  { title: 'best loss', cell: ({ bestLoss }) => (bestLoss === null ? '-' : loss(bestLoss)) },
  { title: 'differs by', cell: ({ differs }) => differs, side: 'left' }
]

function valueColumns<Row extends { readonly values: readonly unknown[] }>(
  runs: readonly RecordedRun[],
  title: string,
  name: (row: Row) => string
): readonly Column<Row>[] {
  const columns = runs.map(({ run }, i): Column<Row> => ({ title: run, cell: ({ values }) => valueText(values[i]) }))
  return [{ title, cell: name, side: 'left' }, ...columns]
}

function lossColumns(runs: readonly RecordedRun[]): readonly Column<LossPoint>[] {
  const cell = (value: number | undefined) => (value === undefined ? '-' : loss(value))
  const columns = runs.map(({ run }, i): Column<LossPoint> => ({ title: run, cell: ({ losses }) => cell(losses[i]) }))
  return [{ title: 'iteration', cell: ({ iteration }) => count(iteration) }, ...columns]
}

function table<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const [titles, ...lines] = tableLines(columns, rows)
  return [colours.dim(titles), ...lines]
}

function valueText(value: unknown): string {
  return value === undefined ? '-' : typeof value === 'string' ? value : JSON.stringify(value)
}

async function writePlot(path: string, runs: readonly RecordedRun[]): Promise<void> {
  if (!runs.some(({ progress, evaluated }) => progress.length + evaluated.length > 0))
    throw new ArbalestError(
      'INVALID_OPTION',
      `--plot: received ${JSON.stringify(path)}; no run there has losses to plot: name the log of one that has trained`
    )
  await writeChart(path, runsChart(runs))
}
