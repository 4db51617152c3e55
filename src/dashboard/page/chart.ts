import uPlot from './uplot.js'
import { element, fillTable, say, styleOf } from './dom.js'
import { numberText, shortText } from './format.js'

export interface ChartSeries {
  readonly label: string
  /** A custom property of the style sheet. */
  readonly colour: string
  readonly x: readonly (number | null)[]
  readonly y: readonly (number | null)[]
  readonly dash?: boolean
  /** Drawn as points where there are few. */
  readonly sparse?: boolean
}

export interface ChartOptions {
  readonly title: string
  /** What it shows, for those who see it for the first time. */
  readonly hint: string
  readonly y: (value: number) => string
  /** The least range of values. */
  readonly range?: readonly [number, number]
}

const HEIGHT = 230
const TABLE_ROWS = 12
/** Both curves of as many runs as there are colours. */
const MOST_TOLD = 16

/** Curves with their present values, and a table with the same for those who cannot see them. */
export class Chart {
  readonly card: HTMLElement
  readonly #options: ChartOptions
  readonly #plot = element('div', { class: 'chart-plot' })
  readonly #readout = element('p', { class: 'readout' })
  readonly #table = element('table')
  readonly #details: HTMLDetailsElement
  #uplot: uPlot | undefined
  #shape = ''
  #series: readonly ChartSeries[] = []
  #data: uPlot.AlignedData = [[]]
  #x: (value: number) => string = String
  #along = ''

  constructor(options: ChartOptions) {
    this.#options = options
    const { title, hint } = options
    const table = element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `${title} as a table` }, this.#table)
    this.#details = element('details', {}, element('summary', {}, 'As a table'), table)
    this.#details.addEventListener('toggle', () => this.#fillTable())
    this.#plot.setAttribute('role', 'img')
    const heading = element('div', { class: 'heading' }, element('h2', {}, title), this.#readout)
    this.card = element('article', { class: 'card' }, heading, element('p', { class: 'hint' }, hint), this.#plot, this.#details)
    new ResizeObserver(() => this.#resize()).observe(this.#plot)
  }

  show(series: readonly ChartSeries[], { along, x }: { readonly along: string; readonly x: (value: number) => string }): void {
    this.#series = series
    this.#x = x
    this.#along = along
    const tables = series.map((each) => rising(each.x, each.y))
    this.#data = tables.length > 0 ? uPlot.join(tables) : [[]]
    const shape = series.map(({ label, colour, dash }) => `${label} ${colour} ${dash}`).join('|')
    if (shape !== this.#shape || !this.#uplot) {
      this.#shape = shape
      this.restyle()
    } else this.#uplot.setData(this.#data)
    this.#tell(undefined)
    this.#fillTable()
  }

  /** Draws anew, in the colours of the present theme. */
  restyle(): void {
    this.#uplot?.destroy()
    this.#uplot = new uPlot(this.#uplotOptions(), this.#data, this.#plot)
  }

  #uplotOptions(): uPlot.Options {
    const [soft, line] = [styleOf('soft'), styleOf('line')]
    const font = '12px system-ui, sans-serif'
    const axis = { stroke: soft, font, grid: { stroke: line, width: 1 }, ticks: { show: false } }
    const { y, range } = this.#options
    return {
      width: Math.max(240, this.#plot.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
      padding: [10, 14, 0, 0],
      scales: {
        x: { time: false },
        y: { range: (_plot, low, high) => padded(low ?? 0, high ?? 1, range) }
      },
      axes: [
        { ...axis, size: 30, values: (_plot, values) => values.map((value) => this.#x(value)) },
        { ...axis, size: 62, values: (_plot, values) => values.map((value) => (y === numberText ? shortText(value) : y(value))) }
      ],
      series: [
        {},
        ...this.#series.map(({ label, colour, dash, sparse, x }) => ({
          label,
          stroke: styleOf(colour),
          width: 2,
          spanGaps: true,
          ...(dash && { dash: [6, 4] }),
          points: { show: sparse === true || x.length < 60, size: 5, fill: styleOf(colour) }
        }))
      ],
      hooks: { setCursor: [(plot) => this.#tell(plot.cursor.idx ?? undefined)] }
    }
  }

  /** The values under the cursor, else the last ones. */
  #tell(index: number | undefined): void {
    const { y } = this.#options
    const x = index === undefined ? undefined : this.#data[0][index]
    const shown = this.#series.slice(0, MOST_TOLD).map(({ label, colour, y: values }, i) => {
      const at = this.#data[i + 1] ?? []
      const value = index === undefined ? values.findLast((each) => each !== null) : before(at, index)
      const swatch = element('span', { class: 'swatch' })
      swatch.style.setProperty('--swatch', `var(--${colour})`)
      return element('span', {}, swatch, `${label} `, element('b', {}, value === null || value === undefined ? '–' : y(value)))
    })
    const place = x === undefined ? [] : [element('span', {}, `${this.#along} ${this.#x(x)}`)]
    this.#readout.replaceChildren(...place, ...shown)
    if (index !== undefined) return
    const said = this.#series.map(({ label, y: values }) => `${label} ${y(values.findLast((each) => each !== null) ?? NaN)}`)
    this.#plot.setAttribute('aria-label', `${this.#options.title}: ${said.join(', ') || 'no values yet'}`)
  }

  #fillTable(): void {
    if (!this.#details.open) return
    const [x = [], ...columns] = this.#data as (number | null | undefined)[][]
    const step = Math.max(1, Math.ceil(x.length / TABLE_ROWS))
    const rows = x.flatMap((at, i) => ((x.length - 1 - i) % step === 0 ? [[at, ...columns.map((column) => before(column, i))]] : []))
    const texts = rows.map(([at, ...values]) => [
      this.#x(at!),
      ...values.map((value) => (value === null || value === undefined ? '–' : this.#options.y(value)))
    ])
    fillTable(this.#table, [this.#along, ...this.#series.map(({ label }) => label)], texts)
    say(this.#details.querySelector('summary')!, 'As a table')
  }

  #resize(): void {
    const width = this.#plot.clientWidth
    if (width > 0) this.#uplot?.setSize({ width, height: HEIGHT })
  }
}

/** uPlot takes points by rising x alone; a run that went back has some twice. */
function rising(x: readonly (number | null)[], y: readonly (number | null)[]): [number[], (number | null)[]] {
  const points = new Map<number, number | null>()
  for (const [i, at] of x.entries()) if (at !== null) points.set(at, y[i] ?? null)
  const sorted = [...points].sort(([a], [b]) => a - b)
  return [sorted.map(([at]) => at), sorted.map(([, value]) => value)]
}

/** The last value up to a place. */
function before(values: ArrayLike<number | null | undefined>, index: number): number | null {
  for (let i = index; i >= 0; i--) if (values[i] !== null && values[i] !== undefined) return values[i]!
  return null
}

function padded(low: number, high: number, least?: readonly [number, number]): [number, number] {
  const [from, until] = [Math.min(low, least?.[0] ?? low), Math.max(high, least?.[1] ?? high)]
  const margin = 0.06 * (until - from || Math.abs(until) || 1)
  const bottom = from - margin
  return [from >= 0 && bottom < 0 ? 0 : bottom, until + margin]
}
