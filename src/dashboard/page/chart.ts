import type { Along } from './along.js'
import { isolated, padded, rising, valueAt } from './curves.js'
import { element, fillTable, say, styleOf, swatch } from './dom.js'
import { axisText } from './format.js'
import uPlot from './uplot.js'

export interface ChartSeries {
  readonly label: string
  /** A custom property of the style sheet. */
  readonly colour: string
  readonly x: readonly (number | null)[]
  readonly y: readonly (number | null)[]
  readonly dash?: boolean
  /** Where its run has got to: until there its last value holds. */
  readonly until?: number | null
  /** It has no present value, such as that of a learner that has gone. */
  readonly isPast?: boolean
}

export interface ChartOptions {
  readonly title: string
  /** What it shows, for those who see it for the first time. */
  readonly hint: string
  readonly y: (value: number) => string
  /** At the marks of the axis. */
  readonly axis?: (value: number) => string
  /** What the axis shows at least. */
  readonly least?: readonly number[]
  /** The greatest value that there can be. */
  readonly limit?: number
}

const HEIGHT = 250
/** Pixels between two marks of an axis, and beside its last one, at least. */
const SPACE = 50
const MARGIN = 18
/** Pixels of a character of a mark. */
const CHARACTER = 7
const TABLE_ROWS = 12
/** Both curves of as many runs as there are colours. */
const MOST_TOLD = 16
/** A curve of fewer points has a dot at each. */
const MANY = 60
/** A missing value stays a gap where another curve has values between its neighbours. */
const EXPAND = 2 as uPlot.JoinNullMode

/** Curves with their present values, and a table with the same for those who cannot see them. */
export class Chart {
  readonly card: HTMLElement
  readonly #options: ChartOptions
  readonly #plot = element('div', { class: 'chart-plot' })
  readonly #place = element('span', { class: 'place' })
  readonly #hint = element('p', { class: 'hint' })
  readonly #readout = element('p', { class: 'readout' })
  readonly #table = element('table')
  readonly #details: HTMLDetailsElement
  #uplot: uPlot | undefined
  #shape = ''
  #series: readonly ChartSeries[] = []
  #data: uPlot.AlignedData = [[]]
  #along!: Along
  #span: readonly [from: number, until: number] = [0, 1]

  constructor(options: ChartOptions) {
    this.#options = options
    const { title, hint } = options
    const table = element('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `${title} as a table` }, this.#table)
    this.#details = element('details', {}, element('summary', {}, 'As a table'), table)
    this.#details.addEventListener('toggle', () => this.#fillTable())
    this.#plot.setAttribute('role', 'img')
    const heading = element('div', { class: 'heading' }, element('div', {}, element('h2', {}, title), this.#place), this.#readout)
    say(this.#hint, hint)
    this.card = element('article', { class: 'card chart' }, heading, this.#hint, this.#plot, this.#details)
    new ResizeObserver(() => this.#resize()).observe(this.#plot)
  }

  show(series: readonly ChartSeries[], along: Along, span: readonly [from: number, until: number]): void {
    this.#series = series
    this.#along = along
    this.#span = span
    const tables = series.map((each) => rising(each.x, each.y))
    const modes = series.map(() => [EXPAND, EXPAND])
    this.#data = tables.length > 0 ? uPlot.join(tables, modes) : [[]]
    this.card.classList.toggle('empty', this.isEmpty)
    const shape = [along.name, ...series.map(({ label, colour, dash }) => `${label} ${colour} ${dash}`)].join('|')
    if (shape !== this.#shape || !this.#uplot) {
      this.#shape = shape
      this.restyle()
    } else this.#uplot.setData(this.#data)
    this.#tell(this.#uplot?.cursor.idx)
    this.#fillTable()
  }

  /** Says something of what is shown at present, besides what the chart always shows. */
  remark(text: string): void {
    say(this.#hint, `${this.#options.hint} ${text}`.trim())
  }

  /** Whether no curve has a value. */
  get isEmpty(): boolean {
    return this.#series.every(({ y }) => y.every((value) => value === null))
  }

  /** Draws anew, in the colours of the present theme. */
  restyle(): void {
    if (this.#shape === '') return
    this.#uplot?.destroy()
    this.#uplot = new uPlot(this.#uplotOptions(), this.#data, this.#plot)
  }

  #uplotOptions(): uPlot.Options {
    const [soft, line] = [styleOf('soft'), styleOf('line')]
    const font = '12px system-ui, sans-serif'
    const axis = { stroke: soft, font, grid: { stroke: line, width: 1 }, ticks: { show: false } }
    const { y: _, axis: text = axisText, least, limit } = this.#options
    const { name, title, steps } = this.#along
    return {
      width: Math.max(240, this.#plot.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 }, sync: { key: name, scales: ['x', null] } },
      // Half of the last mark may stand there.
      padding: [10, () => Math.max(MARGIN, this.#longestMark() / 2), 0, 0],
      scales: {
        x: { time: false, range: () => [...this.#span] },
        y: { range: (_plot, low, high) => padded(low ?? 0, high ?? 1, least, limit) }
      },
      axes: [
        {
          ...axis,
          size: 26,
          space: () => Math.max(SPACE, this.#longestMark() + 2 * CHARACTER),
          incrs: [...steps],
          values: (_plot, values) => values.map((value) => this.#along.text(value)),
          label: title,
          labelFont: font,
          labelSize: 20
        },
        { ...axis, size: 62, values: (_plot, values) => values.map(text) }
      ],
      series: [
        {},
        ...this.#series.map(({ label, colour, dash }, i) => ({
          label,
          stroke: styleOf(colour),
          width: 2,
          ...(dash && { dash: [6, 4] }),
          points: {
            show: () => this.#series[i]!.y.length < MANY,
            size: 5,
            fill: styleOf(colour),
            filter: (plot: uPlot, curve: number, show: boolean) => (show ? null : isolated(plot.data[curve]!))
          }
        }))
      ],
      hooks: { setCursor: [(plot) => this.#tell(plot.cursor.idx)] }
    }
  }

  /** Pixels of the longest mark of the x axis: marks are as long as the ends of the axis, or shorter. */
  #longestMark(): number {
    return CHARACTER * Math.max(...this.#span.map((end) => this.#along.text(end).length))
  }

  /** The values under the cursor, else the last ones. */
  #tell(cursor: number | null | undefined): void {
    const { title, y } = this.#options
    const { name, text } = this.#along
    const index = Math.min(cursor ?? Infinity, this.#data[0].length - 1)
    const isLatest = cursor === null || cursor === undefined || index < 0
    const values = this.#series.map(({ y: all, isPast = false }, i) =>
      isLatest ? !isPast && all.findLast((each) => each !== null) : this.#value(i, index)
    )
    const texts = values.map((value) => (typeof value === 'number' ? y(value) : '–'))
    const shown = this.#series
      .slice(0, MOST_TOLD)
      .map(({ label, colour, dash }, i) => element('span', {}, swatch(colour, { dash }), `${label} `, element('b', {}, texts[i]!)))
    say(this.#place, isLatest ? 'latest' : `${name} ${text(this.#data[0][index]!)}`)
    this.#readout.replaceChildren(...shown)
    if (!isLatest) return
    const said = this.#series.map(({ label }, i) => `${label} ${texts[i]}`)
    this.#plot.setAttribute('aria-label', `${title}: ${this.isEmpty ? 'no values yet' : said.join(', ')}`)
  }

  /** Of a curve at a place of the data. */
  #value(curve: number, index: number): number | null {
    const { x, until } = this.#series[curve]!
    const end = Math.max(until ?? -Infinity, x.findLast((each) => each !== null) ?? -Infinity)
    return this.#data[0][index]! > end ? null : valueAt(this.#data[curve + 1]!, index)
  }

  #fillTable(): void {
    if (!this.#details.open) return
    const [x] = this.#data
    const step = Math.max(1, Math.ceil(x.length / TABLE_ROWS))
    const rows = [...x.keys()].filter((i) => (x.length - 1 - i) % step === 0)
    const texts = rows.map((row) => [
      this.#along.text(x[row]!),
      ...this.#series.map((_, i) => {
        const value = this.#value(i, row)
        return value === null ? '–' : this.#options.y(value)
      })
    ])
    fillTable(this.#table, [this.#along.name, ...this.#series.map(({ label }) => label)], texts)
  }

  #resize(): void {
    const width = this.#plot.clientWidth
    if (width > 0) this.#uplot?.setSize({ width, height: HEIGHT })
  }
}
