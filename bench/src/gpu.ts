import { fileURLToPath } from 'node:url'
import type { Bench, BenchOptions } from './bench.js'
import { chosenCases, workloadOf, type Case } from './cases.js'
import { startOurs } from './ours.js'
import { compare, type Comparison } from './pairs.js'
import { pythonsWithTorch, type Python } from './python.js'
import { saveResults } from './results.js'
import { Side } from './side.js'
import { Table } from './table.js'

/** How PyTorch may train on a GPU; `stacked` are as many replicas as we have learners, by torch.func, without averaging. */
const MODES = ['eager', 'graph', 'compile', 'stacked'] as const
type Mode = (typeof MODES)[number]

interface Result extends Comparison {
  readonly bench: 'gpu'
  readonly case: string
  readonly peer: 'pytorch'
  readonly peerMode: string
  readonly unit: 'images/s'
  /** Images/s of each of the peer's modes, or why one did not run. */
  readonly peerModes: Readonly<Record<string, number | string>>
  /** Images/s of ours with the learners in lockstep, where there are several. */
  readonly lockstep?: number
}

const PEERS = fileURLToPath(new URL('../peers/', import.meta.url))

function startPyTorch({ program }: Python, one: Case, mode: Mode): Promise<Side> {
  const { sample, count, classes } = workloadOf(one.model)
  const settings = { mode, model: one.model, batch: one.batch, learners: one.learners, count, classes, precision: one.precision }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  return Side.start([{ program, args: ['pytorch_gpu.py', '--sample', ...sample.map(String), ...args], cwd: PEERS, env: {} }])
}

/** Every mode in a window of its own; the fastest is started again to be compared with. */
async function bestMode(python: Python, one: Case, seconds: number): Promise<{ mode: Mode; modes: Result['peerModes'] }> {
  const modes: Record<string, number | string> = {}
  let best: { mode: Mode; rate: number } | undefined
  for (const mode of MODES) {
    if (mode === 'stacked' && one.learners === 1) continue
    try {
      const side = await startPyTorch(python, one, mode)
      const rate = await side.run(seconds)
      side.close()
      modes[mode] = rate
      if (best === undefined || rate > best.rate) best = { mode, rate }
    } catch (error) {
      modes[mode] = error instanceof Error ? error.message : String(error)
    }
  }
  if (best === undefined) throw new Error(`PyTorch ran in none of its modes: ${JSON.stringify(modes)}`)
  return { mode: best.mode, modes }
}

async function rateInLockstep(one: Case, seconds: number): Promise<number> {
  const side = await startOurs(one, { backend: 'cuda', lockstep: true })
  try {
    return await side.run(seconds)
  } finally {
    side.close()
  }
}

async function measure(python: Python, one: Case, options: BenchOptions): Promise<Result> {
  const { mode, modes } = await bestMode(python, one, options.seconds)
  const lockstep = one.learners > 1 ? { lockstep: await rateInLockstep(one, options.seconds) } : {}
  const ours = await startOurs(one, { backend: 'cuda' })
  const peer = await startPyTorch(python, one, mode)
  try {
    const compared = await compare(ours, peer, { pairs: options.pairs, seconds: options.seconds })
    return { bench: 'gpu', case: one.name, peer: 'pytorch', peerMode: mode, unit: 'images/s', ...compared, peerModes: modes, ...lockstep }
  } finally {
    for (const side of [ours, peer]) side.close()
  }
}

/** Learners on one GPU against PyTorch's best way of using it. */
export const gpu: Bench = {
  summary: 'images/s of training on a GPU, learners with SMA at every step against PyTorch: eager, CUDA graph, compiled, stacked replicas',
  filters: ['as throughput; without one: lenet resnet32, batch 16, 1 and 8 learners, bf16'],

  async run(filters, options) {
    const cases = chosenCases(filters.length > 0 ? filters : ['lenet', 'resnet32', 'b16', 'k1', 'k8', 'bf16'])
    const [python] = await pythonsWithTorch()
    const table = new Table([28, 10, 10, 7, 15], options.json ? null : process.stdout)
    table.row(['case', 'images/s', 'PyTorch', 'ratio', 'min-max'])
    const results: Result[] = []
    for (const one of cases) {
      const result = await measure(python!, one, options)
      results.push(result)
      if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
      const { value, peerValue, ratio, min, max } = result
      table.row([result.case, value.toFixed(0), peerValue.toFixed(0), ratio.toFixed(2), `${min.toFixed(2)}-${max.toFixed(2)}`])
      if (result.lockstep !== undefined) table.note(`in lockstep ${result.lockstep.toFixed(0)} images/s`)
      table.note(`PyTorch ${python!.torch}, ${result.peerMode}; ${JSON.stringify(result.peerModes)}`)
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}
