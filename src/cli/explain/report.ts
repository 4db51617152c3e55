import { createColors } from 'picocolors'
import type { Explanation } from '../../index.js'
import { count, external, percent, tableLines, type Column } from '../text.js'
import { layerCosts, total, type Cost, type LayerCost } from './layer-costs.js'

const COLUMNS: readonly Column<LayerCost>[] = [
  { title: 'layer', cell: ({ name }) => name, side: 'left' },
  { title: 'operator', cell: ({ operator }) => operator, side: 'left' },
  { title: 'output', cell: ({ output }) => output.join('x'), side: 'left' },
  ...costColumns('forward'),
  ...costColumns('backward'),
  { title: 'bound by', cell: ({ boundBy }) => boundBy, side: 'left' }
]

function costColumns(pass: 'forward' | 'backward'): readonly Column<LayerCost>[] {
  const cell = (figure: (cost: Cost) => string) => (row: LayerCost) => (row[pass].seconds === 0 ? '' : figure(row[pass]))
  return [
    { title: `${pass} MFLOP`, cell: cell(({ flops }) => count(flops / 1e6)) },
    { title: 'MB', cell: cell(({ bytes }) => (bytes / 1e6).toFixed(1)) },
    { title: 'ms', cell: cell(({ seconds }) => (1000 * seconds).toFixed(2)) }
  ]
}

/** The output of `arbalest explain` without --json, as lines. */
export function report(explained: Explanation, { colour }: { colour: boolean }): readonly string[] {
  const { bold, dim } = createColors(colour)
  const [titles, ...rows] = tableLines(COLUMNS, layerCosts(explained))
  return [bold(headline(explained)), '', dim(titles), ...rows, '', ...cost(explained), '', ...memory(explained, dim)]
}

function headline({ model, input, batch, precision, backend, parameters }: Explanation): string {
  return `${external(model)}: ${count(parameters)} parameters; a step takes ${batch} samples of ${input.join('x')}, in ${precision} on backend ${backend}`
}

function cost({ operators, flops, bytes, floorSeconds, batch, speeds, threads, processor }: Explanation): readonly string[] {
  const arithmetic = total(operators.filter(({ boundBy }) => boundBy === 'arithmetic')).seconds / floorSeconds
  const { measured, flopsPerSecond, bytesPerSecond, cacheBytesPerSecond, cacheBytes } = speeds
  const cache = cacheBytes > 0 ? ` (${giga(cacheBytesPerSecond)} for operators that fit a cache of ${mebi(cacheBytes)} MiB)` : ''
  const how = (is: boolean) => (is ? 'measured' : 'assumed')
  return [
    `A step:      ${giga(flops)} GFLOP (${giga(flops / batch)} a sample), ${giga(bytes)} GB read and written`,
    `Time floor:  ${milliseconds(floorSeconds)}, at most ${count(batch / floorSeconds)} samples/s a learner; ${percent(arithmetic)} of it bound by arithmetic`,
    `             at ${giga(flopsPerSecond)} GFLOP/s, ${how(measured.arithmetic)}, and ${giga(bytesPerSecond)} GB/s${cache}, ${how(measured.memory)}`,
    `Machine:     ${processor}, ${threads === 1 ? '1 thread' : `${threads} threads`} a learner`
  ]
}

function memory(explained: Explanation, dim: (text: string) => string): readonly string[] {
  const { memory: need, learners, bytesUnfused, bytesUnshared, bytesPlanned, saving } = explained
  const { windows, ...always } = need.learner
  const ofLearner = { ...always, ...(windows > 0 && { windows }) }
  const parts: (readonly [name: string, one: number, all: number])[] = Object.entries(ofLearner).map(([name, bytes]) => [
    name,
    bytes,
    learners * bytes
  ])
  for (const [name, bytes] of Object.entries(need.shared)) if (bytes > 0) parts.push([`shared: ${name}`, 0, bytes])
  const sum = parts.reduce((all, [, one]) => all + one, 0)
  const columns: readonly Column<(typeof parts)[number]>[] = [
    { title: 'memory, MiB', cell: ([name]) => name, side: 'left' },
    { title: 'a learner', cell: ([, one]) => (one === 0 ? '' : mebi(one)) },
    { title: learners === 1 ? '1 learner' : `${learners} learners`, cell: ([, , all]) => mebi(all) }
  ]
  const [titles, ...rows] = tableLines(columns, [...parts, ['together', sum, need.total]])
  return [
    dim(titles),
    ...rows,
    '',
    ...limits(explained),
    `Operators' outputs: ${mebi(bytesUnshared)} MiB, which share ${mebi(bytesPlanned)} MiB: ${percent(saving)} saved (${mebi(bytesUnfused)} MiB before operators are fused)`
  ]
}

/** Without a limit, at the least, and within the limit if there is one. */
function limits({ memoryBytes, floorBytes, recomputedBytes, movedBytes = 0, predictedSlowdown }: Explanation): readonly string[] {
  const range = `Device memory:      ${mebi(memoryBytes)} MiB beside the samples, and at least ${mebi(floorBytes, Math.ceil)} MiB with --device-memory`
  if (recomputedBytes === undefined || predictedSlowdown === undefined) return [range]
  const again = `${mebi(recomputedBytes)} MiB of a step are computed again and ${mebi(movedBytes)} MiB moved`
  return [range, `                    ${again}: ${predictedSlowdown.toFixed(2)} times its time, as predicted`]
}

function giga(value: number): string {
  return (value / 1e9).toPrecision(4)
}

function mebi(bytes: number, rounded: (value: number) => number = Math.round): string {
  return (rounded((10 * bytes) / 2 ** 20) / 10).toLocaleString('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 })
}

function milliseconds(seconds: number): string {
  return seconds >= 1 ? `${seconds.toFixed(2)} s` : `${(1000 * seconds).toPrecision(3)} ms`
}
