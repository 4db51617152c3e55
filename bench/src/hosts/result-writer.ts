import type { BenchOptions } from '../bench.js'
import { Table } from '../table.js'
import type { HubResult } from './hub-result.js'
import type { Result } from './result.js'

const COLUMNS = [34, 18, 10, 10, 7, 15, 3] as const

/** Prints cases beside their peers, each as soon as it is measured: a row of a table, or a line of JSON. */
export class ResultWriter {
  readonly #json: boolean
  readonly #table: Table

  constructor({ json }: BenchOptions) {
    this.#json = json
    this.#table = new Table(COLUMNS, json ? null : process.stdout, { words: 2 })
    this.#table.row(['case', 'peer', 'value', 'peer', 'ratio', 'min-max', 'n'])
  }

  write(result: Result | HubResult): void {
    if (this.#json) process.stdout.write(`${JSON.stringify(result)}\n`)
    const range = `${result.min.toFixed(2)}-${result.max.toFixed(2)}`
    const values = [result.value, result.peerValue].map((value) => value.toPrecision(4))
    this.#table.row([result.case, result.peer, ...values, result.ratio.toFixed(2), range, String(result.n)])
    this.#table.note(`${result.unit}${result.peerMode === undefined ? '' : `; ${result.peerMode}`}; load ${result.load.toFixed(1)}`)
  }
}
