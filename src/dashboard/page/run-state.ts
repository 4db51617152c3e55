import { COLUMNS, type CurvePoint, type DashboardUpdate, type Happening, type RunFacts, type RunUpdate } from './wire.js'

type CurveKind = keyof typeof COLUMNS

/** As many as the server keeps. */
const MOST_HAPPENINGS = 200
/** Of curves, in the style sheet. */
const COLOURS = 8

/** A run as the page knows it. The server bounds what it sends, so that this is bounded too. */
export class PageRun {
  readonly id: string
  /** Runs are counted from 0 as the page gets to know them. A run keeps its number when others are forgotten. */
  readonly number: number
  facts!: RunFacts
  happenings: Happening[] = []
  #happenedBefore = 0
  readonly #curves = new Map<string, CurvePoint[]>()

  constructor(id: string, number = 0) {
    this.id = id
    this.number = number
  }

  take({ facts, curves = {}, happenings }: RunUpdate): void {
    if (facts) this.facts = facts
    for (const [name, { from, points }] of Object.entries(curves)) {
      const known = this.#curves.get(name) ?? []
      known.splice(from, known.length - from, ...points)
      this.#curves.set(name, known)
    }
    if (!happenings) return
    const kept = this.happenings.slice(0, Math.max(0, happenings.from - this.#happenedBefore))
    const all = [...kept, ...happenings.items]
    const dropped = Math.max(0, all.length - MOST_HAPPENINGS)
    this.#happenedBefore = Math.max(this.#happenedBefore, happenings.from - kept.length) + dropped
    this.happenings = all.slice(dropped)
  }

  points(curve: string): readonly CurvePoint[] {
    return this.#curves.get(curve) ?? []
  }

  /** One column of a curve. */
  column<Kind extends CurveKind>(curve: string, kind: Kind, name: (typeof COLUMNS)[Kind][number]): (number | null)[] {
    const column = (COLUMNS[kind] as readonly string[]).indexOf(name)
    return this.points(curve).map((point) => point[column] ?? null)
  }

  /** The present value of a column. */
  latest<Kind extends CurveKind>(curve: string, kind: Kind, name: (typeof COLUMNS)[Kind][number]): number | null {
    return this.points(curve).at(-1)?.[(COLUMNS[kind] as readonly string[]).indexOf(name)] ?? null
  }

  /** The last value of a column that is known. */
  known<Kind extends CurveKind>(curve: string, kind: Kind, name: (typeof COLUMNS)[Kind][number]): number | null {
    const column = (COLUMNS[kind] as readonly string[]).indexOf(name)
    return this.points(curve).findLast((point) => point[column] !== null && point[column] !== undefined)?.[column] ?? null
  }

  /** Points that the page holds of this run. */
  get size(): number {
    return [...this.#curves.values()].reduce((sum, points) => sum + points.length, this.happenings.length)
  }
}

/** All runs, and which of them are shown. */
export class PageRuns {
  readonly #runs = new Map<string, PageRun>()
  /** Whether the curves of a run are drawn, of those of which it was said. */
  readonly #isDrawn = new Map<string, boolean>()
  #focused: string | undefined
  #count = 0

  take({ ids, runs }: DashboardUpdate): void {
    for (const id of ids ? this.#runs.keys() : []) if (!ids!.includes(id)) this.#forget(id)
    for (const update of runs) {
      const run = this.#runs.get(update.id) ?? new PageRun(update.id, this.#count++)
      run.take(update)
      this.#runs.set(update.id, run)
    }
  }

  get all(): readonly PageRun[] {
    return [...this.#runs.values()]
  }

  /** The run of which everything is shown: the one that was chosen, else the last that trains, else the last. */
  get focused(): PageRun | undefined {
    const chosen = this.#focused === undefined ? undefined : this.#runs.get(this.#focused)
    return chosen ?? this.all.findLast(({ facts }) => facts.state === 'training') ?? this.all.at(-1)
  }

  focus(id: string): void {
    this.#focused = id
    this.#isDrawn.set(id, true)
  }

  /** The number of a run, and what tells it from the others. */
  titleOf(run: PageRun): string {
    const { differs, name } = run.facts
    return `${run.number}: ${differs || name}`
  }

  /** Of its curves, by its name in the style sheet. */
  colourOf(run: PageRun): string {
    return `series-${run.number % COLOURS}`
  }

  /** The runs whose curves are drawn. */
  get drawn(): readonly PageRun[] {
    return this.all.filter(({ id }) => this.isDrawn(id))
  }

  /** Unless something else was chosen, the newest runs are drawn, and the one of which everything is shown: curves of more runs than there are colours cannot be told apart. */
  isDrawn(id: string): boolean {
    return this.#isDrawn.get(id) ?? [this.focused, ...this.all.slice(-COLOURS)].some((run) => run?.id === id)
  }

  draw(id: string, isDrawn: boolean): void {
    this.#isDrawn.set(id, isDrawn)
  }

  #forget(id: string): void {
    this.#runs.delete(id)
    this.#isDrawn.delete(id)
  }
}
