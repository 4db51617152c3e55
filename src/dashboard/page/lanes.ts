import { TIME_STEPS } from './along.js'
import { byId, element, fillTable, styleOf, swatch } from './dom.js'
import { numberText, percentText, timeText } from './format.js'
import type { PageRun } from './run-state.js'
import { STATES, VACANT, type CurvePoint } from './wire.js'

const LANE = 26
const GAP = 6
const AXIS = 24
/** Between a label and its lane, and after the lanes, for half a label of the axis. */
const SPACE = 14
const RIGHT = 20
/** Seconds without a look at the learners that are drawn as such: no page was open. */
const UNWATCHED = 3

const LEGEND = [
  ['computing', 'computing'],
  ['waiting', 'waiting for others'],
  ['averaging', 'averaging'],
  ['training', 'training, shares not recorded'],
  ['resting', 'resting'],
  ['starting', 'starting'],
  ['dead', 'dead'],
  ['raised', 'not watched: no page was open'],
  ['card', 'no learner']
] as const

/** A lane for each place of the population: what its learner did, over the time of the run. */
export class Lanes {
  readonly #canvas = byId<HTMLCanvasElement>('lanes')
  readonly #legend = byId('lanes-legend')
  readonly #table = byId<HTMLTableElement>('lanes-table')
  #run: PageRun | undefined

  constructor() {
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
    const lanes = Array.from({ length: places }, (_, place) => run.points(`place ${place}`))
    const learners = lanes.map((_, place) => run.facts.places[place]?.[1] ?? null)
    // The lanes of a log have a point only where their state changes, and the last state lasts until the present.
    const reached = run.latest('progress', 'progress', 'seconds') ?? 0
    const end = Math.max(1, reached, ...lanes.map((points) => points.at(-1)?.[0] ?? 0))
    const left = this.#drawLabels(pen, learners)
    const x = (seconds: number) => left + ((width - left - RIGHT) * Math.min(seconds, end)) / end
    // A look sees all places that there are, and the first one is always there.
    const unwatched = run.facts.isLive ? unwatchedTimes(lanes[0] ?? [], end) : []
    const drawn = new Set(
      lanes.flatMap((points, place) => [...drawLane(pen, points, place * (LANE + GAP), { x, end, isLive: run.facts.isLive, unwatched })])
    )
    drawAxis(pen, x, end, height - AXIS / 2)
    this.#drawMarks(pen, run, places, x)
    this.#showLegend(drawn)
  }

  /** Returns where the lanes begin. */
  #drawLabels(pen: CanvasRenderingContext2D, learners: readonly (number | null)[]): number {
    const column = (texts: readonly string[], colour: string, left: number) => {
      pen.fillStyle = styleOf(colour)
      for (const [place, text] of texts.entries()) pen.fillText(text, left, place * (LANE + GAP) + LANE / 2)
      return left + Math.max(0, ...texts.map((text) => pen.measureText(text).width))
    }
    pen.textAlign = 'left'
    const places = learners.map((_, place) => `place ${place}`)
    const names = learners.map((learner) => (learner === null ? '' : `learner ${learner}`))
    const left = column(places, 'ink', 0) + SPACE
    return names.some(Boolean) ? column(names, 'soft', left - SPACE / 2) + SPACE : left
  }

  /** Explains the colours that there are. */
  #showLegend(drawn: ReadonlySet<string>): void {
    const shown = LEGEND.filter(([colour]) => drawn.has(colour))
    const key = shown.join()
    if (this.#legend.dataset['key'] === key) return
    this.#legend.dataset['key'] = key
    this.#legend.replaceChildren(...shown.map(([colour, label]) => element('li', {}, swatch(colour), label)))
  }

  /** Deaths and successors, at their moments. */
  #drawMarks(pen: CanvasRenderingContext2D, { happenings }: PageRun, places: number, x: (seconds: number) => number): void {
    for (const { kind, seconds, place } of happenings) {
      if (place === undefined || place >= places) continue
      const [at, middle] = [x(seconds), place * (LANE + GAP) + LANE / 2]
      pen.beginPath()
      if (kind === 'lost') {
        pen.moveTo(at - 6, middle - 6)
        pen.lineTo(at + 6, middle + 6)
        pen.moveTo(at + 6, middle - 6)
        pen.lineTo(at - 6, middle + 6)
        // With an edge, because the lane is of the same colour while its learner is dead.
        for (const [colour, lineWidth] of [
          ['card', 6],
          ['dead', 2.5]
        ] as const) {
          Object.assign(pen, { strokeStyle: styleOf(colour), lineWidth })
          pen.stroke()
        }
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
      const [, learner = null, state = 0, waiting = null, averaging = null, distance = null] = run.facts.places[place] ?? []
      const computing = waiting === null || averaging === null ? null : Math.max(0, 1 - waiting - averaging)
      const deaths = run.happenings.filter((each) => each.kind === 'lost' && each.place === place).length
      const shares = [percentText(computing), percentText(waiting), percentText(averaging)]
      return [`${place}`, learner === null ? '–' : `${learner}`, STATES[state ?? 0]!, ...shares, numberText(distance), `${deaths}`]
    })
    fillTable(this.#table, ['place', 'learner', 'state', 'computing', 'waiting', 'averaging', 'distance', 'deaths'], rows)
  }
}

/** The places that have a learner now. */
export function occupiedPlaces({ facts: { places } }: PageRun): readonly number[] {
  return [...places.keys()].filter((place) => places[place]![2] !== VACANT)
}

/** How many places have a lane: those that have, or have had, a learner. */
export function placesOf(run: PageRun): number {
  let places = 0
  while (run.points(`place ${places}`).length > 0) places++
  return places
}

/** The time that a look covers: since the look before, or only a quarter of a second if that was long ago. */
export function lookedAt(points: readonly CurvePoint[], i: number): [from: number, until: number] {
  const until = points[i]![0]!
  const before = points[i - 1]?.[0] ?? until - 0.25
  const usual = i >= 2 ? 4 * (points[i - 1]![0]! - points[i - 2]![0]!) : UNWATCHED
  return [until - before > Math.max(UNWATCHED, usual) ? until - 0.25 : Math.max(0, before), until]
}

/** The time that a point of a log covers: a log records changes, so a state holds until the next one. */
function heldUntil(points: readonly CurvePoint[], i: number, end: number): [from: number, until: number] {
  return [points[i]![0]!, points[i + 1]?.[0] ?? end]
}

type Time = readonly [from: number, until: number]

/** The times that no look at a lane covers. */
export function unwatchedTimes(points: readonly CurvePoint[], end: number): readonly Time[] {
  const looks = points.map((_, i) => lookedAt(points, i))
  const begins = [...looks.map(([from]) => from), end]
  const ends = [0, ...looks.map(([, until]) => until)]
  return begins.map((until, i): Time => [ends[i]!, until]).filter(([from, until]) => until - from > UNWATCHED)
}

interface LaneScale {
  readonly x: (seconds: number) => number
  readonly end: number
  readonly isLive: boolean
  readonly unwatched: readonly Time[]
}

/** Returns the names of the colours that it has drawn, and left. */
function drawLane(
  pen: CanvasRenderingContext2D,
  points: readonly CurvePoint[],
  top: number,
  { x, end, isLive, unwatched }: LaneScale
): Set<string> {
  const drawn = new Set<string>()
  pen.fillStyle = styleOf('raised')
  for (const [from, until] of unwatched) {
    pen.fillRect(x(from), top, x(until) - x(from), LANE)
    drawn.add('raised')
  }
  for (const [i, point] of points.entries()) {
    const [from, until] = isLive ? lookedAt(points, i) : heldUntil(points, i, end)
    if (point[2] === VACANT) drawn.add('card')
    const [left, right] = [Math.floor(x(from)), Math.floor(x(until))]
    let at = top
    for (const [colour, share] of partsOf(point)) {
      pen.fillStyle = styleOf(colour)
      pen.fillRect(left, at, Math.max(1, right - left), share * LANE)
      at += share * LANE
      if (share > 0) drawn.add(colour)
    }
  }
  return drawn
}

/** Colours and their shares, which are 1 together. */
function partsOf([, , state, waiting = null, averaging = null]: CurvePoint): readonly (readonly [colour: string, share: number])[] {
  const name = STATES[state ?? 0]!
  if (name === 'vacant') return []
  // Logs do not record the shares of waiting and averaging.
  if (name !== 'training' || waiting === null) return [[name, 1]]
  const waits = Math.min(1, waiting)
  const averages = Math.min(1 - waits, averaging ?? 0)
  return [
    ['waiting', waits],
    ['averaging', averages],
    ['computing', 1 - waits - averages]
  ]
}

function drawAxis(pen: CanvasRenderingContext2D, x: (seconds: number) => number, end: number, middle: number): void {
  pen.fillStyle = styleOf('soft')
  pen.textAlign = 'center'
  const step = tick(end, (x(end) - x(0)) / 60)
  for (let at = 0; at <= end; at += step) pen.fillText(timeText(at), x(at), middle)
}

/** Seconds between two labels of a time axis with room for so many. */
function tick(end: number, most: number): number {
  return TIME_STEPS.find((step) => end / step <= most) ?? TIME_STEPS.at(-1)!
}
