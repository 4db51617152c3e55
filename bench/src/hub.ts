import type { Bench, BenchOptions } from './bench.js'
import { unknownName } from './errors.js'
import { central } from './hub/central.js'
import { tall } from './hub/tall.js'
import { tenants } from './hub/tenants.js'
import { costModel } from './hosts/cost-model.js'
import type { HubResult } from './hosts/hub-result.js'
import { Laboratory } from './hosts/laboratory.js'
import { racks } from './hosts/racks.js'
import { saveResults } from './results.js'
import { Table } from './table.js'

const COLUMNS = [34, 18, 10, 10, 7, 15, 3] as const

/** All cases by the first word of their names. */
const CASES: Readonly<Record<string, (options: BenchOptions) => Promise<readonly HubResult[]>>> = {
  hub: central,
  tenants,
  tall,
  racks,
  'cost-model': costModel
}

/** Words that names of cases have besides. */
const DETAILS = ['h4', 'link4x', 'k2']

/** The exchange of hosts: at a hub, by owners of chunks, by rack beside flat, and what the cost model predicts. */
export const hub: Bench = {
  summary: 'how hosts sum: at a hub and by rack beside flat, and what the cost model predicts beside what is measured',
  filters: [`cases ${Object.keys(CASES).join(' ')}: \`racks\`, or \`hub h4 link4x\`, is one; they need root, for network namespaces`],

  async run(given, options) {
    const filters = wanted(given)
    const reason = await Laboratory.reasonAgainst()
    if (reason !== undefined) return void process.stderr.write(`hub: left out: ${reason}\n`)
    const table = new Table(COLUMNS, options.json ? null : process.stdout, { words: 2 })
    table.row(['case', 'peer', 'value', 'peer', 'ratio', 'min-max', 'n'])
    const results: HubResult[] = []
    for (const [name, measure] of Object.entries(CASES)) {
      if (filters.length > 0 && !filters.includes(name)) continue
      for (const result of await measure(options)) {
        results.push(result)
        if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
        const range = `${result.min.toFixed(2)}-${result.max.toFixed(2)}`
        const values = [result.value, result.peerValue].map((value) => value.toPrecision(4))
        table.row([result.case, result.peer, ...values, result.ratio.toFixed(2), range, String(result.n)])
        table.note(`${result.unit}${result.peerMode === undefined ? '' : `; ${result.peerMode}`}; load ${result.load.toFixed(1)}`)
      }
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}

/** The first words of the cases' names. Throws UNKNOWN_NAME. */
export function wanted(filters: readonly string[]): readonly string[] {
  const words = filters.flatMap((filter) => filter.split(/\s+/)).filter((word) => word !== '')
  const unknown = words.find((word) => !Object.hasOwn(CASES, word) && !DETAILS.includes(word))
  if (unknown !== undefined) throw unknownName('filter', unknown, [...Object.keys(CASES), ...DETAILS])
  return words.filter((word) => Object.hasOwn(CASES, word))
}
