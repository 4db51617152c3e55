import { ITERATIONS, TIME } from './along.js'
import { byId, element, say } from './dom.js'
import { Lanes } from './lanes.js'
import { LessonCard } from './lesson.js'
import { Orbit } from './orbit.js'
import { saidOf, showHappenings, showLevels, showMemory, showSummary, showTitle, type AmongRuns } from './panels.js'
import { RunCharts } from './run-charts.js'
import { PageRuns, type PageRun } from './run-state.js'
import { isOver, type DashboardUpdate } from './wire.js'

/** Milliseconds between two sentences for screen readers about the same state of a run. */
const SAID_EVERY = 15_000

const runs = new PageRuns()
const lanes = new Lanes()
const orbit = new Orbit()
const lesson = new LessonCard()
const charts = new RunCharts()
let along = ITERATIONS
let hasEnded = false
/** Since when the server does not answer. */
let lost: Date | undefined
let lastSaid = -Infinity
/** The run that was told of last, and its state: another one is told at once. */
let saidOfState = ''
let scheduled = false

byId('charts').append(...charts.cards)
for (const input of document.querySelectorAll<HTMLInputElement>('input[name=along]'))
  input.addEventListener('change', () => {
    along = input.value === 'seconds' ? TIME : ITERATIONS
    show()
  })
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  charts.restyle()
  show()
})
readUpdates()

/** Takes what the server sends. A stream that was lost comes back with everything anew. */
function readUpdates(): void {
  const stream = new EventSource('events')
  stream.addEventListener('error', () => {
    if (hasEnded) return
    if (stream.readyState === EventSource.CLOSED) void tellRefusal()
    else connection('lost', `no answer since ${(lost ??= new Date()).toLocaleTimeString()}: connecting again`)
  })
  stream.addEventListener('message', ({ data }: MessageEvent<string>) => {
    const update = JSON.parse(data) as DashboardUpdate
    lost = undefined
    runs.take(update)
    if (update.over) {
      hasEnded = true
      stream.close()
    }
    // A folder of logs is followed on when all of its runs are over.
    if (hasEnded || (runs.all.length > 0 && runs.all.every((run) => isOver(run.facts)))) connection('over', 'ended')
    else connection('live', 'live')
    if (document.hidden) nameTab()
    if (scheduled) return
    scheduled = true
    // A page in the background draws nothing, and keeps what it gets.
    requestAnimationFrame(show)
  })
}

/** The server refuses a stream where too many pages have one. Another one, which has its port since the run has gone, refuses everything. */
async function tellRefusal(): Promise<void> {
  const isThere = await fetch('icon.svg').then(
    ({ ok }) => ok,
    () => false
  )
  connection('lost', isThere ? 'too many pages watch this run: close one, and reload' : 'the run has gone')
}

function connection(state: string, text: string): void {
  byId('connection').dataset['state'] = state
  say(byId('connection'), text)
}

function nameTab(): void {
  if (runs.focused) showTitle(runs.focused, among(runs.focused))
}

function among(run: PageRun): AmongRuns | undefined {
  return runs.all.length > 1 ? { title: runs.titleOf(run), colour: runs.colourOf(run) } : undefined
}

function show(): void {
  scheduled = false
  const run = runs.focused
  if (!run) return
  nameTab()
  showRuns()
  showSummary(run, among(run))
  lesson.show(run.facts)
  orbit.show(run)
  charts.show(runs, run, along)
  lanes.show(run)
  showHappenings(run)
  showMemory(run)
  showLevels(run)
  const now = performance.now()
  const state = `${run.facts.state} ${run.id}`
  if (now - lastSaid < SAID_EVERY && state === saidOfState) return
  lastSaid = now
  saidOfState = state
  say(byId('said'), saidOf(run))
}

/** With several runs: which are drawn, and which one is told of. */
function showRuns(): void {
  const group = byId('runs')
  group.hidden = runs.all.length < 2
  const key = JSON.stringify([
    runs.all.map(({ id, facts }) => [id, facts.name, facts.differs, facts.state]),
    runs.focused?.id,
    runs.drawn.map(({ id }) => id)
  ])
  if (group.hidden || group.dataset['key'] === key) return
  group.dataset['key'] = key
  const held = document.activeElement instanceof HTMLElement && group.contains(document.activeElement) ? document.activeElement.id : ''
  group.replaceChildren(...runs.all.map(runChip))
  if (held !== '') document.getElementById(held)?.focus()
  // Among many runs, of which the header shows a part.
  if (group.dataset['focused'] === runs.focused?.id) return
  group.dataset['focused'] = runs.focused?.id ?? ''
  group.querySelector('[data-focused=true]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
}

function runChip(run: PageRun): HTMLElement {
  const { number, facts } = run
  const { name, state } = facts
  const box = element('input', { type: 'checkbox', id: `draw-${number}`, 'aria-label': `draw the curves of ${runs.titleOf(run)}` })
  box.checked = runs.isDrawn(run.id)
  box.addEventListener('change', () => {
    runs.draw(run.id, box.checked)
    show()
  })
  const isFocused = runs.focused === run
  const button = element(
    'button',
    { type: 'button', id: `focus-${number}`, 'aria-pressed': String(isFocused), title: `${name}, ${state}` },
    runs.titleOf(run)
  )
  button.addEventListener('click', () => {
    runs.focus(run.id)
    show()
  })
  const chip = element('span', { class: 'run', 'data-focused': String(isFocused) }, box, button)
  chip.style.setProperty('--run-colour', `var(--${runs.colourOf(run)})`)
  return chip
}
