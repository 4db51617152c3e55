import type { RunEvent } from '../observe/events.js'
import { Dashboard, type DashboardSource } from './dashboard.js'
import { MetricsServer } from './metrics-server.js'
import { RunBoard } from './run-board.js'
import { RunWatch, secondsNow, type WatchedJob } from './run-watch.js'

export interface JobsWatchOptions {
  /** Whether there is a page, and its port. */
  readonly dashboard?: boolean | { readonly port?: number } | undefined
  /** Where Prometheus reads; nowhere if omitted. */
  readonly metricsPort?: number | undefined
  /** How many jobs there will be; 1 if omitted. */
  readonly jobs?: number
  /** Of a device that the jobs share. */
  readonly device?: SharedDeviceFigures
}

/** Who has a device that several jobs share. */
export interface SharedDeviceFigures {
  /** In words. */
  readonly status: () => string
  /** For which each job has had the device so far; undefined while none has turns. */
  readonly seconds: () => readonly number[] | undefined
}

/** Watches the jobs of this process: shows them on one page, and tells Prometheus. Ends with the last of them. */
export class JobsWatch implements DashboardSource {
  readonly #options: JobsWatchOptions
  readonly #watches: RunWatch[] = []
  readonly #left: Set<RunWatch> = new Set()
  #dashboard: Dashboard | undefined
  #metrics: MetricsServer | undefined
  #device: { readonly seconds: readonly number[] | undefined; readonly at: number } | undefined

  private constructor(options: JobsWatchOptions) {
    this.#options = options
  }

  /** Throws INVALID_OPTION if a port cannot be had. */
  static async open(options: JobsWatchOptions): Promise<JobsWatch> {
    const watch = new JobsWatch(options)
    const { dashboard, metricsPort } = options
    try {
      if (dashboard !== undefined && dashboard !== false)
        watch.#dashboard = await Dashboard.open(watch, dashboard === true ? {} : dashboard)
      if (metricsPort !== undefined) watch.#metrics = await MetricsServer.open(watch, { port: metricsPort })
      return watch
    } catch (error) {
      watch.#close()
      throw error
    }
  }

  /** The address of the page. */
  get url(): string | undefined {
    return this.#dashboard?.url
  }

  get metricsUrl(): string | undefined {
    return this.#metrics?.url
  }

  get boards(): readonly RunBoard[] {
    return this.#watches.map(({ board }) => board)
  }

  /** Watches one more job, before its first event. `id` is its run's name in logs. */
  add(job: WatchedJob, { id, name }: { readonly id: string; readonly name: string }, run: RunEvent): void {
    const board = new RunBoard(id, { name, began: secondsNow(), isLive: true })
    const watch = new RunWatch(job, board, run)
    this.#watches.push(watch)
    this.#left.add(watch)
    void watch.ended.then(() => {
      this.#left.delete(watch)
      if (this.#left.size === 0 && this.#watches.length >= (this.#options.jobs ?? 1)) this.#close()
    })
  }

  async look(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.look()))
    this.#lookAtDevice()
  }

  #lookAtDevice(): void {
    const { device } = this.#options
    if (!device) return
    const before = this.#device
    const at = performance.now() / 1000
    const seconds = device.seconds()
    this.#device = { seconds, at }
    if (!before || at <= before.at) return
    const status = device.status()
    for (const [job, { board }] of this.#watches.entries()) {
      const share = seconds && before.seconds && ((seconds[job] ?? 0) - (before.seconds[job] ?? 0)) / (at - before.at)
      if (!board.isOver) board.share(share === undefined ? null : Math.min(1, Math.max(0, share)), status, secondsNow())
    }
  }

  #close(): void {
    this.#dashboard?.close()
    this.#metrics?.close()
  }
}
