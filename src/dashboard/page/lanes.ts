import { TIME_STEPS } from './along.js'
import { byId, element, fillTable, styleOf, swatch } from './dom.js'
import { numberText, percentText, timeText } from './format.js'
import type { PageRun } from './run-state.js'
import { STATES, type CurvePoint } from './wire.js'

const LANE = 26
const GAP = 6
const AXIS = 24
const LABEL = 118
/** Seconds without a look at the learners that are drawn as such: no page was open. */
const UNWATCHED = 3

const LEGEND = [
  ['computing', 'computing'],
  ['waiting', 'waiting for others'],
  ['averaging', 'averaging'],
  ['training', 'training, shares not recorded'],
  ['resting', 'resting'],
  ['starting', 'starting'],
  ['dead', 'dead']
] as const

/** A lane for each place of the population: what its learner did, over the time of the run. */
export class Lanes {
  readonly #canvas = byId<HTMLCanvasElement>('lanes')
  readonly #table = byId<HTMLTableElement>('lanes-table')
  #run: PageRun | undefined

  constructor() {
    byId('lanes-legend').replaceChildren(...LEGEND.map(([colour, label]) => element('li', {}, swatch(colour), label)))
    new ResizeObserver(() => this.#draw()).observe(this.#canvas.parentElement!)
    this.#table.closest('details')!.addEventListener('toggle', () => this.#fillTable())
  }

  show(run: PageRun): void {
    this.#run = run
    this.#draw()
    this.#fillTable()
  }

  #draw(): void {
    const run = this.#run
    if (!run) return
    const places = placesOf(run)
    const width = this.#canvas.clientWidth
    const height = Math.max(1, places) * (LANE + GAP) + AXIS
    const scale = devicePixelRatio
    this.#canvas.style.height = `${height}px`
    this.#canvas.width = Math.round(width * scale)
    this.#canvas.height = Math.round(height * scale)
    const pen = this.#canvas.getContext('2d')!
    pen.scale(scale, scale)
    pen.font = '12px system-ui, sans-serif'
    pen.textBaseline = 'middle'
    const end = Math.max(1, ...Array.from({ length: places }, (_, place) => run.points(`place ${place}`).at(-1)?.[0] ?? 0))
    const x = (seconds: number) => LABEL + ((width - LABEL - 8) * Math.min(seconds, end)) / end
    for (let place = 0; place < places; place++) this.#drawLane(pen, run, place, x, end)
    this.#drawAxis(pen, x, end, height - AXIS)
    this.#drawMarks(pen, run, places, x)
  }

  #drawLane(pen: CanvasRenderingContext2D, run: PageRun, place: number, x: (seconds: number) => number, end: number): void {
    const points = run.points(`place ${place}`)
    const top = place * (LANE + GAP)
    pen.fillStyle = styleOf('raised')
    pen.fillRect(x(0), top, x(end) - x(0), LANE)
    for (const [i, point] of points.entries()) {
      const [from, until] = run.facts.isLive ? lookedAt(points, i) : heldUntil(points, i, end)
      drawCell(pen, point, [Math.floor(x(from)), Math.max(Math.floor(x(until)), Math.floor(x(from)) + 1)], top)
    }
    const learner = points.at(-1)?.[1] ?? null
    pen.textAlign = 'left'
    pen.fillStyle = styleOf('ink')
    pen.fillText(`place ${place}`, 0, top + LANE / 2)
    pen.fillStyle = styleOf('faint')
    pen.fillText(learner === null ? '' : `learner ${learner}`, 52, top + LANE / 2)
  }

  #drawAxis(pen: CanvasRenderingContext2D, x: (seconds: number) => number, end: number, top: number): void {
    pen.fillStyle = styleOf('soft')
    pen.textAlign = 'center'
    const step = tick(end, (x(end) - x(0)) / 80)
    for (let at = 0; at <= end; at += step) pen.fillText(timeText(at), Math.max(x(at), LABEL + 8), top + AXIS / 2)
  }

  /** Deaths and successors, at their moments. */
  #drawMarks(pen: CanvasRenderingContext2D, { happenings }: PageRun, places: number, x: (seconds: number) => number): void {
    for (const { kind, seconds, place } of happenings) {
      if (place === undefined || place >= places) continue
      const [at, middle] = [x(seconds), place * (LANE + GAP) + LANE / 2]
      pen.lineWidth = 2.5
      pen.beginPath()
      if (kind === 'lost') {
        pen.strokeStyle = styleOf('dead')
        pen.moveTo(at - 6, middle - 6)
        pen.lineTo(at + 6, middle + 6)
        pen.moveTo(at + 6, middle - 6)
        pen.lineTo(at - 6, middle + 6)
        pen.stroke()
      } else if (kind === 'replaced') {
        pen.fillStyle = styleOf('ink')
        pen.moveTo(at, middle + 2)
        pen.lineTo(at + 6, middle + 13)
        pen.lineTo(at - 6, middle + 13)
        pen.fill()
      }
    }
  }

  #fillTable(): void {
    const run = this.#run
    if (!run || !this.#table.closest('details')!.open) return
    const rows = Array.from({ length: placesOf(run) }, (_, place) => {
      const [, learner = null, state = 0, waiting = null, averaging = null, distance = null] = run.points(`place ${place}`).at(-1) ?? []
      const computing = waiting === null || averaging === null ? null : Math.max(0, 1 - waiting - averaging)
      const deaths = run.happenings.filter((each) => each.kind === 'lost' && each.place === place).length
      const shares = [percentText(computing), percentText(waiting), percentText(averaging)]
      return [`${place}`, learner === null ? '–' : `${learner}`, STATES[state ?? 0]!, ...shares, numberText(distance), `${deaths}`]
    })
    fillTable(this.#table, ['place', 'learner', 'state', 'computing', 'waiting', 'averaging', 'distance', 'deaths'], rows)
  }
}

export function placesOf(run: PageRun): number {
  let places = 0
  while (run.points(`place ${places}`).length > 0) places++
  return places
}

/** A look tells of the time since the one before, unless there was none for long. */
export function lookedAt(points: readonly CurvePoint[], i: number): [from: number, until: number] {
  const until = points[i]![0]!
  const before = points[i - 1]?.[0] ?? until - 0.25
  const usual = i >= 2 ? 4 * (points[i - 1]![0]! - points[i - 2]![0]!) : UNWATCHED
  return [until - before > Math.max(UNWATCHED, usual) ? until - 0.25 : Math.max(0, before), until]
}

/** A log tells of changes: a state holds until the next one. */
function heldUntil(points: readonly CurvePoint[], i: number, end: number): [from: number, until: number] {
  return [points[i]![0]!, points[i + 1]?.[0] ?? end]
}

function drawCell(pen: CanvasRenderingContext2D, point: CurvePoint, [from, until]: readonly [number, number], top: number): void {
  const [, , state, waiting, averaging] = point
  const name = STATES[state ?? 0]!
  if (name === 'vacant') return
  // No log has the shares.
  if (name !== 'training' || waiting === null) {
    pen.fillStyle = styleOf(name)
    return pen.fillRect(from, top, until - from, LANE)
  }
  const [waits, averages] = [LANE * Math.min(1, waiting ?? 0), LANE * Math.min(1, averaging ?? 0)]
  const computes = Math.max(0, LANE - waits - averages)
  const parts = [
    ['waiting', waits],
    ['averaging', averages],
    ['computing', computes]
  ] as const
  let at = top
  for (const [colour, part] of parts) {
    pen.fillStyle = styleOf(colour)
    pen.fillRect(from, at, until - from, Math.min(part, top + LANE - at))
    at += part
  }
}

/** Seconds between two labels of a time axis with room for so many. */
function tick(end: number, most: number): number {
  return TIME_STEPS.find((step) => end / step <= most) ?? TIME_STEPS.at(-1)!
}
