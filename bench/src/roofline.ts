import { writeFile } from 'node:fs/promises'
import type { Bench, BenchOptions } from './bench.js'
import { chosenCases, type Case } from './cases.js'
import { engine, runSpeeds } from './internals.js'
import { startPeak } from './ours.js'
import { runLearners } from './profile.js'
import { boundOf, type Placed, type Roofs } from './roofline/bound.js'
import { rooflinePlot } from './roofline/plot.js'
import { Table } from './table.js'

/** One line of `--json`: an operator of a step, or all of one kind. */
interface Row extends Placed {
  readonly kind: string
  readonly operators: number
}

/** Lines of `--profile` are as many as operators; here those of one kind are one. */
function byKind(placed: readonly Placed[]): readonly Row[] {
  const kinds = new Map<string, Placed[]>()
  for (const each of placed) kinds.set(each.kind, [...(kinds.get(each.kind) ?? []), each])
  const sum = (some: readonly Placed[], field: 'seconds' | 'bound' | 'flops' | 'bytes'): number =>
    some.reduce((total, one) => total + one[field], 0)
  return [...kinds]
    .map(([kind, some]) => {
      const totals = { seconds: sum(some, 'seconds'), bound: sum(some, 'bound'), flops: sum(some, 'flops'), bytes: sum(some, 'bytes') }
      const slowest = some.reduce((a, b) => (b.bound > a.bound ? b : a))
      return { ...slowest, ...totals, kind, operators: some.length }
    })
    .sort((a, b) => b.seconds - b.bound - (a.seconds - a.bound))
}

async function measureRoofs(one: Case): Promise<Roofs> {
  const fma = await startPeak(one.learners)
  const flopsPerSecond = (await fma.run(0.2)) / one.learners
  fma.close()
  const { bytesPerSecond, cacheBytesPerSecond, cacheBytes } = runSpeeds(engine, { backend: 'cpu', threads: 1 })
  // A bfloat16 product of AVX-512 BF16 has twice the operations of a float32 one of the same width; with AMX the roof is higher still.
  return { flopsPerSecond: flopsPerSecond * (one.precision === 'bf16' ? 2 : 1), bytesPerSecond, cacheBytesPerSecond, cacheBytes }
}

async function rooflineOf(one: Case, options: BenchOptions): Promise<void> {
  const roofs = await measureRoofs(one)
  const [report] = await runLearners(one, options.seconds)
  if (report === undefined) return
  const placed = report.operators
    .filter(({ runs }) => runs > 0)
    .map((operator) => boundOf({ ...operator, seconds: operator.seconds / operator.runs }, roofs))
  const rows = byKind(placed)
  const step = (report.busySeconds + report.waitSeconds) / report.steps
  const bound = placed.reduce((sum, each) => sum + each.bound, 0)
  if (options.json) {
    for (const each of placed) process.stdout.write(`${JSON.stringify({ bench: 'roofline', case: one.name, ...each })}\n`)
    process.stdout.write(
      `${JSON.stringify({ bench: 'roofline', case: one.name, step, bound, wait: report.waitSeconds / report.steps, ...roofs })}\n`
    )
  }
  const table = new Table([34, 5, 10, 9, 10, 8, 9, 8, 9], options.json ? null : process.stdout)
  table.row([`${one.name}: kind`, 'ops', 'us/step', 'of step', 'must be', 'reached', 'more, us', 'GFLOP/s', 'by'])
  for (const { kind, operators, seconds, bound: least, flops, by } of rows)
    table.row([
      kind,
      String(operators),
      (seconds * 1e6).toFixed(1),
      `${((100 * seconds) / step).toFixed(1)}%`,
      (least * 1e6).toFixed(1),
      `${((100 * least) / seconds).toFixed(0)}%`,
      ((seconds - least) * 1e6).toFixed(1),
      (flops / seconds / 1e9).toFixed(1),
      by
    ])
  table.note(
    `a step takes ${(step * 1e6).toFixed(0)} us and must take ${(bound * 1e6).toFixed(0)} (${((100 * bound) / step).toFixed(0)}%); roofs of a core: ` +
      `${(roofs.flopsPerSecond / 1e9).toFixed(0)} GFLOP/s, ${(roofs.cacheBytesPerSecond / 1e9).toFixed(0)} GB/s in its caches, ${(roofs.bytesPerSecond / 1e9).toFixed(0)} GB/s of memory`
  )
  if (options.save !== undefined) {
    const file = new URL(`../results/${options.save}-${one.name.replaceAll(' ', '-')}.svg`, import.meta.url)
    await writeFile(file, await rooflinePlot(one.name, placed, roofs))
  }
}

/** Where the time of a step goes, against where it must go. */
export const roofline: Bench = {
  summary: "time of every operator of a learner's step against the bound of its arithmetic and bytes; --save draws it",
  filters: ['as of throughput; --save NAME writes bench/results/NAME-CASE.svg'],
  takes: ['seconds', 'save'],

  async run(filters, options) {
    for (const one of chosenCases(filters)) await rooflineOf(one, options)
  }
}
