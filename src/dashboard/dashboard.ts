import { distinctions } from '../observe/run-labels.js'
import type { DashboardUpdate } from './page/wire.js'
import { PageServer } from './page-server.js'
import type { RunBoard } from './run-board.js'
import { Viewers } from './viewers.js'

/** Milliseconds between two messages to the pages. */
const TICK = 250

/** What a dashboard shows: runs, and what is to be done before their changes are taken. */
export interface DashboardSource {
  readonly boards: readonly RunBoard[]
  /** Called before each message, while there is a page. */
  readonly look: () => Promise<void>
}

/** Pages that show runs. Without a page nothing is looked at, computed or sent. */
export class Dashboard {
  readonly #source: DashboardSource
  readonly #viewers = new Viewers()
  #server!: PageServer
  #timer: NodeJS.Timeout | undefined
  #closed = false
  /** The runs that have been told apart, and those of which all pages know. */
  #distinguished = ''
  #known = ''

  private constructor(source: DashboardSource) {
    this.#source = source
  }

  /** Throws INVALID_OPTION if the port cannot be had. */
  static async open(source: DashboardSource, { port = 0 }: { readonly port?: number } = {}): Promise<Dashboard> {
    const dashboard = new Dashboard(source)
    dashboard.#server = await PageServer.open({ port, viewers: dashboard.#viewers, first: () => dashboard.#first() })
    return dashboard
  }

  /** The address of the page, with its secret. */
  get url(): string {
    return this.#server.url
  }

  get viewers(): number {
    return this.#viewers.count
  }

  /** Tells the pages the last changes and that no more will come. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#timer)
    this.#viewers.send(JSON.stringify({ ...this.#changes(), over: true } satisfies DashboardUpdate))
    this.#viewers.close()
    this.#server.close()
  }

  #first(): string {
    this.#distinguish()
    // The first page gets everything: changes from before it must not be sent a second time.
    if (this.#viewers.count === 0) this.#changes()
    this.#timer ??= setTimeout(() => void this.#tick(), TICK).unref()
    const { boards } = this.#source
    return JSON.stringify({ ids: boards.map(({ id }) => id), runs: boards.map((board) => board.whole()) } satisfies DashboardUpdate)
  }

  /** One after another: a look that takes long delays the next message, and no two overlap. */
  async #tick(): Promise<void> {
    // If looking fails, the page shows what is already known.
    await this.#source.look().catch(() => {})
    if (this.#closed) return
    const update = this.#changes()
    if (this.#viewers.count === 0) {
      this.#timer = undefined
      return
    }
    if (update.runs.length > 0) this.#viewers.send(JSON.stringify(update))
    this.#timer = setTimeout(() => void this.#tick(), TICK).unref()
  }

  /** Which options tell the runs apart changes with each run that comes. */
  #distinguish(): void {
    const { boards } = this.#source
    const ids = boards.map(({ id }) => id).join()
    if (ids === this.#distinguished) return
    this.#distinguished = ids
    const differs = distinctions(boards)
    for (const [i, board] of boards.entries()) board.distinguish(differs[i]!)
  }

  #changes(): DashboardUpdate {
    this.#distinguish()
    const { boards } = this.#source
    const ids = boards.map(({ id }) => id)
    const isKnown = ids.join() === this.#known
    this.#known = ids.join()
    return { ...(!isKnown && { ids }), runs: boards.flatMap((board) => board.takeChanges() ?? []) }
  }
}
