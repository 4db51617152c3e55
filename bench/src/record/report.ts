import type { BenchOptions } from '../bench.js'
import { Table } from '../table.js'
import type { ContestOptions } from './contest.js'
import { TARGET, type Figures, type NamedSummary } from './summary.js'

/** Prints each run, and at the end what both sides have reached. */
export class Report {
  readonly #json: boolean
  readonly #table: Table

  constructor({ json }: BenchOptions) {
    this.#json = json
    this.#table = new Table([12, 24, 10, 10, 10, 10], json ? null : process.stdout)
    this.#table.row(['side', 'run', 'seconds', 'wall', 'accuracy', 'plain'])
  }

  readonly onRun: ContestOptions['onRun'] = (contestant, seed, finding) => {
    this.#line({ bench: 'record', contestant, seed, ...finding })
    if ('failure' in finding) this.#table.note(`${contestant}, seed ${seed}: ${finding.failure}`)
    else {
      const { seconds, wallSeconds, accuracy, plainAccuracy } = finding
      this.#table.row([contestant, `seed ${seed}`, seconds.toFixed(3), wallSeconds.toFixed(3), percent(accuracy), percent(plainAccuracy)])
    }
  }

  note(text: string): void {
    if (this.#json) process.stderr.write(`record: ${text}\n`)
    this.#table.note(text)
  }

  /** Mean and spread of a side's runs. */
  summary(summary: NamedSummary): void {
    const { contestant, seconds, wallSeconds, accuracy, plainAccuracy, reached } = summary
    this.#line(summary)
    for (const name of ['mean', 'median', 'min', 'max', 'std'] as const) {
      const cell = (figures: Figures, shown: (value: number) => string): string => (figures[name] === null ? '-' : shown(figures[name]))
      const inSeconds = (value: number): string => value.toFixed(3)
      const cells = [cell(seconds, inSeconds), cell(wallSeconds, inSeconds), cell(accuracy, percent), cell(plainAccuracy, percent)]
      this.#table.row([contestant, `${name} of ${seconds.n}`, ...cells])
    }
    this.#table.note(`${contestant}: ${percent(reached)} of the runs reach ${percent(TARGET)}`)
  }

  #line(value: object): void {
    if (this.#json) process.stdout.write(`${JSON.stringify(value)}\n`)
  }
}

const percent = (share: number): string => `${(100 * share).toFixed(2)}%`
