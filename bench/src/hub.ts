import type { Bench, BenchOptions } from './bench.js'
import { unknownName } from './errors.js'
import { central } from './hub/central.js'
import { flood } from './hub/flood.js'
import { tall } from './hub/tall.js'
import { tenants } from './hub/tenants.js'
import { TRAINED, training } from './hub/training.js'
import { costModel } from './hosts/cost-model.js'
import type { HubResult } from './hosts/hub-result.js'
import { Laboratory } from './hosts/laboratory.js'
import { racks } from './hosts/racks.js'
import { ResultWriter } from './hosts/result-writer.js'
import { saveResults } from './results.js'

/** All cases by their words. */
const CASES: Readonly<Record<string, (options: BenchOptions, models: readonly string[]) => Promise<readonly HubResult[]>>> = {
  hub: central,
  training,
  tenants,
  flood,
  tall,
  racks,
  'cost-model': costModel
}

/** Words that are a part of the name of another case, as in `training hub h4 link4x` and `tenants flood`. */
const PARTS: Readonly<Record<string, string>> = { training: 'hub', tenants: 'hub', flood: 'tenants' }

/** Words that names of cases have besides. */
const DETAILS = ['h4', 'link4x', 'k2', ...TRAINED]

/** The exchange of hosts: at a hub, by owners of chunks, by rack beside flat, and what the cost model predicts. */
export const hub: Bench = {
  summary: 'how hosts sum: at a hub and by rack beside flat, and what the cost model predicts beside what is measured',
  filters: [
    `cases ${Object.keys(CASES).join(' ')}; models of training ${TRAINED.join(' ')}:`,
    '`racks`, `hub h4 link4x`, `training hub h4 link4x resnet20` or `tenants flood` is one; they need root, for network namespaces'
  ],
  takes: ['pairs', 'seconds', 'save'],

  async run(given, options) {
    const { cases, models } = wanted(given)
    const reason = await Laboratory.reasonAgainst()
    if (reason !== undefined) return void process.stderr.write(`hub: left out: ${reason}\n`)
    const writer = new ResultWriter(options)
    const results: HubResult[] = []
    for (const [name, measure] of Object.entries(CASES)) {
      if (cases.length > 0 && !cases.includes(name)) continue
      for (const result of await measure(options, models)) {
        results.push(result)
        writer.write(result)
      }
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}

/** The cases that the filters name, and the models that the training cases train. Without a filter: all. Throws UNKNOWN_NAME. */
export function wanted(filters: readonly string[]): { readonly cases: readonly string[]; readonly models: readonly string[] } {
  const words = filters.flatMap((filter) => filter.split(/\s+/)).filter((word) => word !== '')
  const unknown = words.find((word) => !Object.hasOwn(CASES, word) && !DETAILS.includes(word))
  if (unknown !== undefined) throw unknownName('filter', unknown, [...Object.keys(CASES), ...DETAILS])
  const parts = words.map((word) => PARTS[word])
  const models = TRAINED.filter((model) => words.includes(model))
  return {
    cases: words.filter((word) => Object.hasOwn(CASES, word) && !parts.includes(word)),
    models: models.length > 0 ? models : TRAINED
  }
}
