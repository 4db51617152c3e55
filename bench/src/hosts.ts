import type { Bench, BenchOptions } from './bench.js'
import { chosen, orUsual, type Chosen } from './hosts/cases.js'
import { exchange } from './hosts/exchange.js'
import { Laboratory } from './hosts/laboratory.js'
import { pace } from './hosts/pace.js'
import type { Result } from './hosts/result.js'
import { throughput } from './hosts/throughput.js'
import { timeToAccuracy } from './hosts/tta.js'
import { saveResults } from './results.js'
import { Table } from './table.js'

const COLUMNS = [34, 18, 10, 10, 7, 15, 3] as const

/** All rows, one case after another. Those that need a laboratory are left out, with the reason, where none can be made. */
async function* rows(words: Chosen, options: BenchOptions): AsyncGenerator<readonly Result[]> {
  if (words.kinds.has('throughput')) {
    for (const model of orUsual(words.models, ['resnet20'])) {
      for (const batch of orUsual(words.batches, [16])) yield [await throughput(model, batch, orUsual(words.hosts, [2])[0]!, options)]
    }
  }
  const reason = await Laboratory.reasonAgainst()
  if (reason !== undefined) {
    process.stderr.write(`exchange, pace and tta: left out: ${reason}\n`)
    return
  }
  if (words.kinds.has('exchange')) {
    for (const mbit of orUsual(words.mbit, [200, 1000])) {
      for (const hosts of orUsual(words.hosts, [2, 4])) yield await exchange(hosts, mbit, options)
    }
  }
  for (const [kind, rowsOf] of [
    ['pace', pace],
    ['tta', timeToAccuracy]
  ] as const) {
    if (!words.kinds.has(kind)) continue
    const usual = [['lenet', [50]] as const, ['resnet20', [20, 50]] as const]
    for (const [model, rates] of usual.filter(([name]) => words.models.length === 0 || words.models.includes(name))) {
      for (const mbit of orUsual(words.mbit, rates)) {
        const rules = orUsual(words.rules, ['local-sgd'] as const)
        for (const rule of rules) yield await rowsOf({ model, rule, mbit, hosts: orUsual(words.hosts, [4])[0]! }, options)
      }
    }
  }
}

/** Several hosts: sums over shaped links, training over several processes, time to accuracy beside PyTorch's. */
export const hosts: Bench = {
  summary: 'several hosts on one machine: sums over shaped links, throughput, time to accuracy against PyTorch over Gloo',
  filters: [
    'kinds exchange throughput pace tta; h2 h4; links 200mbit 1gbit; models lenet resnet20; b16; rules sma local-sgd:',
    '`exchange h4 200mbit` is one case. Exchange, pace and tta need root, for network namespaces'
  ],

  async run(filters, options) {
    const table = new Table(COLUMNS, options.json ? null : process.stdout, { words: 2 })
    table.row(['case', 'peer', 'value', 'peer', 'ratio', 'min-max', 'n'])
    const results: Result[] = []
    for await (const some of rows(chosen(filters), options)) {
      results.push(...some)
      for (const result of some) {
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
