import { ITERATIONS, TIME, type Along } from './along.js'
import { Chart, type ChartSeries } from './chart.js'
import { spanOf } from './curves.js'
import { axisText, numberText, percentText, rateText } from './format.js'
import { lookedAt, occupiedPlaces, placesOf } from './lanes.js'
import type { PageRun, PageRuns } from './run-state.js'
import { isOver } from './wire.js'

type Column = Pick<ChartSeries, 'x' | 'y' | 'until'>

const MOST_PLACES = 8

/** The curves of a page: those of all runs that are drawn, and those of the learners of one run. */
export class RunCharts {
  readonly #loss = new Chart({
    title: 'Loss',
    hint: 'How wrong the model is: the mean over the learners while they train, and of the central model on samples that it has never seen.',
    y: numberText,
    least: [0]
  })
  readonly #accuracy = new Chart({
    title: 'Test accuracy',
    hint: 'How often the central model is right on samples that it has never seen.',
    y: (value) => percentText(value, 2),
    axis: (value) => `${axisText(100 * value)}%`,
    limit: 1
  })
  readonly #r2 = new Chart({
    title: 'Test R²',
    hint: 'How much of the variance of unseen targets the central model explains: 1 is all of it, 0 what their mean explains.',
    y: numberText,
    limit: 1
  })
  readonly #throughput = new Chart({ title: 'Samples per second', hint: 'All learners together.', y: rateText, least: [0] })
  readonly #distance = new Chart({
    title: 'Distance from the central model, over time',
    hint: 'How far each learner has gone from z at the end of a round: they agree more as the learning rate falls.',
    y: numberText,
    least: [0]
  })
  readonly #device = new Chart({
    title: 'Who holds the device, over time',
    hint: 'The share of the time for which each job computes, while they take turns; a gap where all may compute at any time.',
    y: (value) => percentText(value),
    axis: (value) => `${axisText(100 * value)}%`,
    least: [0, 1],
    limit: 1
  })

  get #all(): readonly Chart[] {
    return [this.#loss, this.#accuracy, this.#r2, this.#throughput, this.#distance, this.#device]
  }

  get cards(): readonly HTMLElement[] {
    return this.#all.map(({ card }) => card)
  }

  /** Draws anew, in the colours of the present theme. */
  restyle(): void {
    for (const chart of this.#all) chart.restyle()
  }

  show(runs: PageRuns, focused: PageRun, along: Along): void {
    this.#showRuns(runs, along)
    this.#showDistance(focused)
    this.#showDevice(runs)
  }

  #showRuns(runs: PageRuns, along: Along): void {
    const { drawn } = runs
    const several = drawn.length > 1
    const x = along === ITERATIONS ? 'iteration' : 'seconds'
    const progress = (run: PageRun, column: 'loss' | 'imagesPerSecond'): Column => ({
      x: run.column('progress', 'progress', x),
      y: run.column('progress', 'progress', column)
    })
    const evaluated = (run: PageRun, column: 'testLoss' | 'testAccuracy' | 'testR2'): Column => ({
      x: run.column('evaluated', 'evaluated', x),
      y: run.column('evaluated', 'evaluated', column),
      until: run.latest('progress', 'progress', x)
    })
    const span = spanOf(drawn.flatMap((run) => [progress(run, 'loss').x, evaluated(run, 'testLoss').x]))
    const each = (make: (run: PageRun, colour: string, label: (what: string) => string) => readonly ChartSeries[], of = drawn) =>
      of.flatMap((run) => make(run, runs.colourOf(run), (what) => (several ? `${runs.titleOf(run)} ${what}`.trim() : what)))
    this.#loss.show(
      each((run, colour, label) => [
        { label: label('training'), colour, ...progress(run, 'loss') },
        { label: label('test'), colour: several ? colour : 'series-1', dash: true, ...evaluated(run, 'testLoss') }
      ]),
      along,
      span
    )
    const central = several ? '' : 'central model'
    // Whether accuracy is measured is unknown before the first measurement: until then its chart is shown, and has the run.
    const isAwaited = (run: PageRun) => !isOver(run.facts) && run.points('evaluated').length === 0
    const ofAccuracy = drawn.filter((run) => isAwaited(run) || run.known('evaluated', 'evaluated', 'testAccuracy') !== null)
    const ofR2 = drawn.filter((run) => run.known('evaluated', 'evaluated', 'testR2') !== null)
    for (const [chart, column, having] of [
      [this.#accuracy, 'testAccuracy', ofAccuracy],
      [this.#r2, 'testR2', ofR2]
    ] as const) {
      chart.show(
        each((run, colour, label) => [{ label: label(central), colour, ...evaluated(run, column) }], having),
        along,
        span
      )
      chart.card.hidden = having.length === 0
    }
    this.#throughput.show(
      each((run, colour, label) => [{ label: label(several ? '' : 'samples/s'), colour, ...progress(run, 'imagesPerSecond') }]),
      along,
      span
    )
  }

  #showDistance(run: PageRun): void {
    const places = placesOf(run)
    const occupied = occupiedPlaces(run)
    this.#distance.remark(
      places > MOST_PLACES ? `Those of the first ${MOST_PLACES} of ${places} places: the table of the learners has all.` : ''
    )
    const series = Array.from({ length: Math.min(MOST_PLACES, places) }, (_, place) => ({
      label: `place ${place}`,
      colour: `series-${place}`,
      isPast: !occupied.includes(place),
      ...distancesOf(run, place)
    }))
    show(this.#distance, series)
  }

  #showDevice(runs: PageRuns): void {
    const shared = runs.all.filter((each) => each.points('device').length > 0)
    const series = shared.map((each) => ({
      label: runs.titleOf(each),
      colour: runs.colourOf(each),
      x: each.column('device', 'device', 'seconds'),
      y: each.column('device', 'device', 'share')
    }))
    show(this.#device, series)
  }
}

/** Over time; not at all if there is nothing to show. */
function show(chart: Chart, series: readonly ChartSeries[]): void {
  chart.show(series, TIME, spanOf(series.map(({ x }) => x)))
  chart.card.hidden = chart.isEmpty
}

/** Only some rounds are sampled: the line connects them, with gaps where no page was open. */
function distancesOf(run: PageRun, place: number): Column {
  const points = run.points(`place ${place}`)
  const x: number[] = []
  const y: (number | null)[] = []
  for (const [i, point] of points.entries()) {
    const [from] = lookedAt(points, i)
    if (i > 0 && from > points[i - 1]![0]!) {
      x.push(from)
      y.push(null)
    }
    const [seconds, , , , , distance = null] = point
    if (distance === null) continue
    x.push(seconds!)
    y.push(distance)
  }
  return { x, y }
}
