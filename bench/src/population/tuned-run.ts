import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { PopulationEvent } from '../arbalest.js'
import { ArbalestError } from '../errors.js'

export type Decision = Pick<PopulationEvent, 'action' | 'from' | 'to' | 'reason'>

/** The result of a search. */
export interface Found {
  /** The number of learners on which the tuner settled; null if the time was over before. */
  readonly learners: number | null
  /** The time until then. */
  readonly seconds: number
  readonly decisions: readonly Decision[]
}

const CHILD = fileURLToPath(new URL('tuned-child.js', import.meta.url))

/** Seconds that a search may take. */
const SEARCH = 180
/** Seconds in which the tuner must notice a change of the load. */
const NOTICE = 90

/** A job that tunes its population, in a process of its own that reports the decisions. */
export class TunedRun implements Disposable {
  readonly #child: ChildProcess
  readonly #decisions: Decision[] = []
  #settled: number | undefined
  #wake = () => {}
  #failure: Error | undefined
  readonly #end = () => void this.#child.kill('SIGKILL')

  constructor(model: string, batch: number, start: number, most: number) {
    this.#child = spawn(process.execPath, [CHILD, model, String(batch), String(start), String(most)], { stdio: ['ignore', 'pipe', 'pipe'] })
    let stderr = ''
    this.#child.stderr!.on('data', (text: Buffer) => (stderr = (stderr + text.toString()).slice(-2000)))
    this.#child.once('close', () => {
      this.#failure = new ArbalestError('ACTOR_GONE', `the tuned job ended: ${stderr.trim()}`)
      this.#wake()
    })
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      const decision = JSON.parse(line) as Decision
      this.#decisions.push(decision)
      this.#settled = decision.action === 'settle' ? decision.to : undefined
      this.#wake()
    })
    process.once('exit', this.#end)
  }

  /** The result of the first search. */
  first(): Promise<Found> {
    return this.#found(performance.now(), () => this.#settled !== undefined, SEARCH)
  }

  /** The result after a change of the load, which the tuner must notice by itself. If it does not, the population stays as it was. */
  async afterChange(): Promise<Found> {
    const began = performance.now()
    const before = this.#settled ?? null
    const looked = await this.#found(began, () => this.#settled === undefined, NOTICE)
    if (this.#settled !== undefined) return { ...looked, learners: before }
    const settled = await this.#found(began, () => this.#settled !== undefined, SEARCH)
    return { ...settled, decisions: [...looked.decisions, ...settled.decisions] }
  }

  [Symbol.dispose](): void {
    process.off('exit', this.#end)
    this.#end()
  }

  /** Waits until `done`, for at most `seconds`. Throws ACTOR_GONE. */
  async #found(began: number, done: () => boolean, seconds: number): Promise<Found> {
    const deadline = began + 1000 * seconds
    while (!done() && !this.#failure && performance.now() < deadline) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
        timer = setTimeout(resolve, deadline - performance.now())
      })
      clearTimeout(timer)
    }
    if (this.#failure) throw this.#failure
    const passed = Number(((performance.now() - began) / 1000).toFixed(1))
    return { learners: this.#settled ?? null, seconds: passed, decisions: this.#decisions.splice(0) }
  }
}
