import type { TopLevelSpec } from 'vega-lite'
import type { RecordedRun } from '../../index.js'
import { CHART_STYLE } from '../svg-file.js'

/** The most points of a curve: a plot cannot show the several losses per second of a long run, nor its measurements of every few steps. */
const MAX_POINTS = 400
/** Of a panel; the name of a run below it may be as long. */
const WIDTH = 420

type Panels = Extract<TopLevelSpec, { hconcat: unknown }>['hconcat']

/** One point of a curve. */
interface Point {
  readonly run: string
  readonly epoch: number
  readonly value: number
}

/** The chart of runs: training and test losses over epochs, and test accuracies if there are any. */
export function runsChart(runs: readonly RecordedRun[]): TopLevelSpec {
  const test = (what: 'testLoss' | 'testAccuracy') =>
    runs.flatMap((run) =>
      downsample(run.evaluated.flatMap(({ epoch, [what]: value }): Point[] => (value === null ? [] : [{ run: label(run), epoch, value }])))
    )
  const training = runs.flatMap((run) => downsample(run.progress.map(({ epoch, loss }) => ({ run: label(run), epoch, value: loss }))))
  const losses = [...training, ...test('testLoss')]
  const accuracies = test('testAccuracy')
  const common = { names: runs.map(label), epochs: greatest([...losses, ...accuracies].map(({ epoch }) => epoch)) }
  const bold = { strokeWidth: 2.5, point: { size: 36, filled: true } }
  const ofLoss = panel({ ...common, title: 'loss: training thin, test bold', what: 'loss', format: '.3~g', type: scaleFor(losses) }, [
    line(training, { strokeWidth: 1, opacity: 0.6 }),
    line(test('testLoss'), bold)
  ])
  const ofAccuracy = panel({ ...common, title: 'test accuracy', what: 'accuracy', format: '.1~%', type: 'linear' }, [
    line(accuracies, bold)
  ])
  return {
    ...CHART_STYLE,
    hconcat: accuracies.length > 0 ? [ofLoss, ofAccuracy] : [ofLoss]
  }
}

interface Layer {
  readonly data: { readonly values: Point[] }
  readonly mark: { readonly type: 'line' }
}

function line(values: Point[], mark: object): Layer {
  return { data: { values }, mark: { type: 'line', ...mark } }
}

interface Panel {
  readonly title: string
  readonly what: string
  readonly format: string
  readonly type: 'linear' | 'log'
  readonly names: readonly string[]
  readonly epochs: number
}

function panel({ title, what, format, type, names, epochs }: Panel, layers: Layer[]) {
  return {
    title,
    width: WIDTH,
    height: 280,
    encoding: {
      x: {
        field: 'epoch',
        type: 'quantitative',
        title: 'epoch',
        scale: { domain: [0, epochs], nice: false },
        axis: { tickCount: 6, grid: false }
      },
      y: {
        field: 'value',
        type: 'quantitative',
        title: what,
        scale: type === 'log' ? { type, nice: false } : { type, zero: false },
        axis: { format, tickCount: 6 }
      },
      color: {
        field: 'run',
        type: 'nominal',
        title: null,
        scale: { domain: names, scheme: 'tableau10' },
        legend: { orient: 'bottom', columns: 1, labelLimit: WIDTH }
      }
    },
    layer: layers
  } as Panels[number]
}

/** Logarithmic if values differ by more than an order of magnitude. */
function scaleFor(points: readonly Point[]): Panel['type'] {
  const values = points.map(({ value }) => value)
  const [least, most] = [-greatest(values.map((value) => -value)), greatest(values)]
  return least > 0 && most / least > 10 ? 'log' : 'linear'
}

function label({ run, started }: RecordedRun): string {
  return started ? `${run}  ${started.model} on ${started.data}` : run
}

/** Of any number of numbers: a call takes about 100,000 arguments. */
function greatest(values: readonly number[]): number {
  return values.reduce((most, each) => Math.max(most, each), -Infinity)
}

/** Averages neighbouring points so that at most MAX_POINTS remain. */
function downsample(points: readonly Point[]): Point[] {
  const finite = points.filter(({ value }) => Number.isFinite(value))
  const each = Math.ceil(finite.length / MAX_POINTS)
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  return Array.from({ length: Math.ceil(finite.length / Math.max(1, each)) }, (_, i) => {
    const some = finite.slice(i * each, (i + 1) * each)
    return { run: some[0]!.run, epoch: mean(some.map(({ epoch }) => epoch)), value: mean(some.map(({ value }) => value)) }
  })
}
