import type { Bench, BenchOptions } from './bench.js'
import { checkTaken, chosen, orUsual, RULES, type Chosen } from './hosts/cases.js'
import { exchange } from './hosts/exchange.js'
import { Laboratory } from './hosts/laboratory.js'
import { measurePace, paceRows } from './hosts/pace.js'
import { recordedPace } from './hosts/recorded-pace.js'
import type { Result } from './hosts/result.js'
import { ResultWriter } from './hosts/result-writer.js'
import { stepsRows, stepsToTarget } from './hosts/steps.js'
import { throughput } from './hosts/throughput.js'
import { ttaFromSteps } from './hosts/tta-from-steps.js'
import { checkData, PEER_NAMES, TASKS, timeToAccuracy, type TtaOnHosts } from './hosts/tta.js'
import { RESULTS, saveResults } from './results.js'

/** The models that train to an accuracy, with the rates of links that they usually have. */
const TRAINED = [
  { model: 'lenet', usualRates: [50] },
  { model: 'resnet20', usualRates: [20, 50] }
] as const

/** All rows, one case after another. Those that need a laboratory are left out, with the reason, where none can be made. */
async function* rows(words: Chosen, options: BenchOptions): AsyncGenerator<readonly Result[]> {
  const inLaboratory = [...words.kinds].filter((kind) => kind !== 'throughput')
  const reason = inLaboratory.length === 0 ? undefined : await Laboratory.reasonAgainst()
  const trained = TRAINED.filter(({ model }) => words.models.length === 0 || words.models.includes(model))
  // Missing data are an error before the first case, and not after the others.
  if (reason === undefined && inLaboratory.some((kind) => kind !== 'exchange')) for (const { model } of trained) await checkData(model)
  if (words.kinds.has('throughput')) {
    for (const model of orUsual(words.models, ['resnet20'])) {
      for (const batch of orUsual(words.batches, [16])) yield [await throughput(model, batch, orUsual(words.hosts, [2])[0]!, options)]
    }
  }
  if (reason !== undefined) {
    process.stderr.write(`${inLaboratory.join(', ')}: left out: ${reason}\n`)
    return
  }
  if (words.kinds.has('exchange')) {
    for (const mbit of orUsual(words.mbit, [200, 1000])) {
      for (const hosts of orUsual(words.hosts, [2, 4])) yield await exchange(hosts, mbit, options)
    }
  }
  for (const { model, usualRates } of trained) {
    const hosts = orUsual(words.hosts, [4])[0]!
    const rules = orUsual(words.rules, RULES)
    const rates = orUsual(words.mbit, usualRates)
    if (words.kinds.has('pace')) {
      for (const mbit of rates) yield paceRows(await measurePace({ model, mbit, hosts }, rules, options), rules)
    }
    if (words.kinds.has('steps')) yield* stepsAndTimes({ model, hosts }, rates, rules, options)
    if (words.kinds.has('tta')) {
      for (const mbit of rates) for (const rule of rules) yield await timeToAccuracy({ model, mbit, hosts, rule }, options)
    }
  }
}

/** Steps to the accuracy and, for links on which the pace has been measured, the seconds. Nothing if the budget ends before the last run. */
async function* stepsAndTimes(
  cell: Pick<TtaOnHosts, 'model' | 'hosts'>,
  rates: readonly number[],
  rules: readonly TtaOnHosts['rule'][],
  options: BenchOptions
): AsyncGenerator<readonly Result[]> {
  const found = await stepsToTarget(cell, rules, options)
  if (!found) {
    process.stderr.write(`steps ${cell.model}: the budget has ended and runs are missing; start the bench again to continue\n`)
    return
  }
  yield stepsRows(cell, found)
  for (const mbit of rates) {
    const pace = await recordedPace(
      options.out ?? RESULTS,
      { ...cell, mbit, period: TASKS[cell.model].period },
      { rules, peers: PEER_NAMES }
    )
    if (pace) yield ttaFromSteps(found, pace, rules)
  }
}

/** Several hosts: sums over shaped links, training over several processes, time to accuracy beside PyTorch's. */
export const hosts: Bench = {
  summary: 'several hosts on one machine: sums over shaped links, throughput, time to accuracy against PyTorch over Gloo',
  filters: [
    'kinds exchange throughput pace steps tta; h2 h4; links 200mbit 1gbit; models lenet resnet20; b16; rules sma local-sgd:',
    '`exchange h4 200mbit` is one case. All but throughput need root, for network namespaces'
  ],
  takes: ['pairs', 'seconds', 'save', 'budget', 'out'],

  async run(filters, options) {
    const words = chosen(filters)
    checkTaken(words, options)
    const writer = new ResultWriter(options)
    const results: Result[] = []
    for await (const some of rows(words, options)) {
      results.push(...some)
      for (const result of some) writer.write(result)
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}
