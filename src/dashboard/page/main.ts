import { Chart, type ChartSeries } from './chart.js'
import { byId, element, say } from './dom.js'
import { countText, numberText, percentText, timeText } from './format.js'
import { Lanes, placesOf } from './lanes.js'
import { LessonCard } from './lesson.js'
import { Orbit } from './orbit.js'
import { saidOf, showHappenings, showLevels, showMemory, showSummary } from './panels.js'
import { PageRuns, type PageRun } from './run-state.js'
import type { DashboardUpdate } from './wire.js'

/** Milliseconds between two sentences for screen readers. */
const SAID_EVERY = 15_000

type Along = 'iteration' | 'seconds'

const runs = new PageRuns()
const lanes = new Lanes()
const orbit = new Orbit()
const lesson = new LessonCard()
const charts = {
  loss: new Chart({
    title: 'Loss',
    hint: 'How wrong the model is: the mean over the learners while they train, and of the central model on samples that it has never seen.',
    y: numberText,
    range: [0, 0]
  }),
  accuracy: new Chart({
    title: 'Test accuracy',
    hint: 'The share of unseen samples that the central model gets right.',
    y: (value) => percentText(value, 1)
  }),
  throughput: new Chart({ title: 'Images per second', hint: 'All learners together.', y: countText, range: [0, 0] }),
  distance: new Chart({
    title: 'Distance from the central model, over time',
    hint: 'How far each learner has gone from z at the end of a round: they agree more as the learning rate falls.',
    y: numberText,
    range: [0, 0]
  }),
  device: new Chart({
    title: 'Who holds the device, over time',
    hint: 'The share of the time for which each job computes, where several jobs take turns.',
    y: (value) => percentText(value),
    range: [0, 1]
  })
}
let along: Along = 'iteration'
let isOver = false
let lastSaid = -Infinity
let scheduled = false

byId('charts').append(...Object.values(charts).map(({ card }) => card))
for (const input of document.querySelectorAll<HTMLInputElement>('input[name=along]'))
  input.addEventListener('change', () => {
    along = input.value as Along
    show()
  })
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const chart of Object.values(charts)) chart.restyle()
  show()
})
follow()

/** Takes what the server sends. A stream that was lost comes back with everything anew. */
function follow(): void {
  const stream = new EventSource('events')
  stream.addEventListener('open', () => connection('live', 'live'))
  stream.addEventListener('error', () => {
    if (!isOver) connection('lost', stream.readyState === EventSource.CLOSED ? 'the run has gone' : 'connecting again')
  })
  stream.addEventListener('message', ({ data }: MessageEvent<string>) => {
    const update = JSON.parse(data) as DashboardUpdate
    runs.take(update)
    if (update.over) {
      isOver = true
      stream.close()
      connection('over', 'ended')
    }
    if (scheduled) return
    scheduled = true
    // A page in the background draws nothing, and keeps what it gets.
    requestAnimationFrame(show)
  })
}

function connection(state: string, text: string): void {
  byId('connection').dataset['state'] = state
  say(byId('connection'), text)
}

function show(): void {
  scheduled = false
  const run = runs.focused
  if (!run) return
  showRuns()
  showSummary(run)
  lesson.show(run.facts)
  orbit.show(run)
  showCurves(run)
  lanes.show(run)
  showHappenings(run)
  showMemory(run)
  showLevels(run)
  const now = performance.now()
  if (now - lastSaid < SAID_EVERY && !isOver) return
  lastSaid = now
  say(byId('said'), saidOf(run))
}

function showCurves(run: PageRun): void {
  const how = along === 'iteration' ? { along: 'iteration', x: countText } : { along: 'time', x: timeText }
  const several = runs.drawn.length > 1
  const label = (of: PageRun, what: string) => (several ? `${titleOf(of)} ${what}`.trim() : what)
  const all = (make: (of: PageRun, colour: string) => readonly ChartSeries[]) =>
    runs.drawn.flatMap(({ run: each, colour }) => make(each, `series-${colour}`))
  charts.loss.show(
    all((of, colour) => [
      { label: label(of, 'training'), colour, ...curve(of, 'progress', 'loss') },
      { label: label(of, 'test'), colour: several ? colour : 'series-1', dash: true, sparse: true, ...evaluated(of, 'testLoss') }
    ]),
    how
  )
  charts.accuracy.show(
    all((of, colour) => [{ label: label(of, several ? '' : 'central model'), colour, sparse: true, ...evaluated(of, 'testAccuracy') }]),
    how
  )
  charts.throughput.show(
    all((of, colour) => [{ label: label(of, several ? '' : 'images/s'), colour, ...curve(of, 'progress', 'imagesPerSecond') }]),
    how
  )
  const overTime = { along: 'time', x: timeText }
  const places = Math.min(8, placesOf(run))
  // No log has distances.
  charts.distance.card.hidden = !run.facts.isLive
  charts.distance.show(
    Array.from({ length: places }, (_, place) => ({
      label: `${place}`,
      colour: `series-${place}`,
      x: run.column(`place ${place}`, 'place', 'seconds'),
      y: run.column(`place ${place}`, 'place', 'distance')
    })),
    overTime
  )
  const shared = runs.all.filter((each) => each.points('device').length > 0)
  charts.device.card.hidden = shared.length === 0
  charts.device.show(
    shared.map((each, i) => ({
      label: titleOf(each),
      colour: `series-${i % 8}`,
      x: each.column('device', 'device', 'seconds'),
      y: each.column('device', 'device', 'share')
    })),
    overTime
  )
}

function curve(run: PageRun, name: 'progress', column: 'loss' | 'imagesPerSecond'): Pick<ChartSeries, 'x' | 'y'> {
  return { x: run.column(name, 'progress', along), y: run.column(name, 'progress', column) }
}

function evaluated(run: PageRun, column: 'testLoss' | 'testAccuracy'): Pick<ChartSeries, 'x' | 'y'> {
  return { x: run.column('evaluated', 'evaluated', along), y: run.column('evaluated', 'evaluated', column) }
}

/** With several runs: which are drawn, and which one is told of. */
function showRuns(): void {
  const group = byId('runs')
  group.hidden = runs.all.length < 2
  const key = JSON.stringify([
    runs.all.map(({ id, facts }) => [id, facts.name, facts.differs, facts.state]),
    runs.focused?.id,
    runs.drawn.map(({ run }) => run.id)
  ])
  if (group.hidden || group.dataset['key'] === key) return
  group.dataset['key'] = key
  const held = document.activeElement instanceof HTMLElement && group.contains(document.activeElement) ? document.activeElement.id : ''
  group.replaceChildren(...runs.all.map(runChip))
  if (held !== '') document.getElementById(held)?.focus()
}

/** The number of a run, and what tells it from the others. */
function titleOf(run: PageRun): string {
  const { differs, name } = run.facts
  return `${runs.all.indexOf(run)}: ${differs || name}`
}

function runChip(run: PageRun, i: number): HTMLElement {
  const { name, state } = run.facts
  const box = element('input', { type: 'checkbox', id: `draw-${i}`, 'aria-label': `draw the curves of ${name}` })
  box.checked = runs.isDrawn(run.id)
  box.addEventListener('change', () => {
    runs.draw(run.id, box.checked)
    show()
  })
  const isFocused = runs.focused === run
  const button = element(
    'button',
    { type: 'button', id: `focus-${i}`, 'aria-pressed': String(isFocused), title: `${name}, ${state}` },
    titleOf(run)
  )
  button.addEventListener('click', () => {
    runs.focus(run.id)
    show()
  })
  const chip = element('span', { class: 'run', 'data-focused': String(isFocused) }, box, button)
  chip.style.setProperty('--run-colour', `var(--series-${i % 8})`)
  return chip
}
