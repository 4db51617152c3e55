import type { PredictedMode, Prediction } from '../../index.js'
import { count, external, percent, tableLines, type Column } from '../text.js'

const COLUMNS: readonly Column<PredictedMode>[] = [
  { title: 'exchange', cell: ({ mode }) => mode, side: 'left' },
  { title: 'alone, ms', cell: ({ exchangeMilliseconds }) => exchangeMilliseconds.toFixed(2) },
  { title: 'hidden', cell: ({ exchangeHidden }) => percent(exchangeHidden) },
  { title: 'a step, ms', cell: ({ stepMilliseconds }) => stepMilliseconds.toFixed(2) },
  { title: 'with model averaging, ms', cell: ({ averagingStepMilliseconds }) => averagingStepMilliseconds.toFixed(2) }
]

/** The output of `arbalest explain --hosts` without --json, as lines. */
export function predictionReport(prediction: Prediction): readonly string[] {
  const { name, hosts, gpus, learners, batch, parameters, bytes, computeMilliseconds, mode, stepMilliseconds, samplesPerSecond } =
    prediction
  const { efficiency, leastBatch, modes, speeds } = prediction
  const machines = `${count(hosts)} ${hosts === 1 ? 'host' : 'hosts'}${gpus > 0 ? ` of ${gpus} ${gpus === 1 ? 'GPU' : 'GPUs'}` : ''}`
  const how = speeds.measured.arithmetic ? 'as measured here' : 'assumed'
  return [
    `${external(name)}: ${count(parameters)} parameters, ${count(learners)} learners of batch ${batch} on ${machines}`,
    'A model of the machines: nothing of the network is measured.',
    '',
    ...tableLines(COLUMNS, modes),
    '',
    `Computing:   ${computeMilliseconds.toFixed(2)} ms at ${count(speeds.flopsPerSecond / 1e9)} GFLOP/s a learner, ${how}; ${count(bytes / 1e6)} MB of gradients a host`,
    `Best:        ${mode}: ${stepMilliseconds.toFixed(2)} ms a step, ${count(samplesPerSecond)} samples/s, ${percent(efficiency)} of what computing alone allows`,
    leastBatch === null
      ? 'Batch:       no batch up to 4096 makes the exchange cost less than 5% of a step'
      : `Batch:       from ${leastBatch} on, the exchange costs at most 5% of a step`
  ]
}
