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

/** Milliseconds in which a mode is warm: what is compiled is searched for, too. */
const WARM: Readonly<Record<Mode, number>> = { eager: 90_000, graph: 90_000, compile: 300_000, stacked: 120_000 }

const PEERS = fileURLToPath(new URL('../peers/', import.meta.url))

function startPyTorch({ program }: Python, one: Case, mode: Mode): Promise<Side> {
  const { sample, count, classes } = workloadOf(one.model)
  const settings = { mode, model: one.model, batch: one.batch, learners: one.learners, count, classes, precision: one.precision }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  return Side.start([{ program, args: ['pytorch_gpu.py', '--sample', ...sample.map(String), ...args], cwd: PEERS, env: {} }], WARM[mode])
}

/** Images/s of PyTorch in a mode, or why it did not run. */
async function rateOf(python: Python, one: Case, mode: Mode, seconds: number): Promise<number | string> {
  try {
    const side = await startPyTorch(python, one, mode)
    try {
      return await side.run(seconds)
    } finally {
      side.close()
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** What PyTorch manages in each mode. All but the stacked replicas are the same for any number of learners, and are measured once. */
class PeerRates {
  readonly #python: Python
  readonly #modes: readonly Mode[]
  readonly #seconds: number
  readonly #known = new Map<string, number | string>()

  constructor(python: Python, modes: readonly Mode[], seconds: number) {
    this.#python = python
    this.#modes = modes
    this.#seconds = seconds
  }

  /** A window a mode. */
  async of(one: Case): Promise<{ best: Mode; rates: Result['peerModes'] }> {
    const rates: Record<string, number | string> = {}
    for (const mode of this.#modes) {
      if (mode === 'stacked' && one.learners === 1) continue
      const key = [mode, one.model, one.batch, one.precision, mode === 'stacked' ? one.learners : ''].join(' ')
      const rate = this.#known.get(key) ?? (await rateOf(this.#python, one, mode, this.#seconds))
      this.#known.set(key, rate)
      rates[mode] = rate
      tell(one, `PyTorch ${mode}`, rate)
    }
    const ran = this.#modes.filter((mode) => typeof rates[mode] === 'number')
    if (ran.length === 0) throw new Error(`PyTorch ran in none of its modes: ${JSON.stringify(rates)}`)
    return { best: ran.reduce((a, b) => (Number(rates[b]) > Number(rates[a]) ? b : a)), rates }
  }
}

/** A window of ours. */
async function ourRate(one: Case, lockstep: boolean, seconds: number): Promise<number> {
  const side = await startOurs(one, { backend: 'cuda', lockstep })
  try {
    const rate = await side.run(seconds)
    tell(one, lockstep ? 'in lockstep' : 'ours', rate)
    return rate
  } finally {
    side.close()
  }
}

/** On stderr, as it comes: the whole comparison may take minutes, and may be cut off. */
function tell(one: Case, what: string, rate: number | string): void {
  process.stderr.write(`${one.name}: ${what}: ${typeof rate === 'number' ? `${rate.toFixed(0)} images/s` : rate}\n`)
}

/** Ours alone first: where it does not run, nothing is left to compare. */
async function measure(python: Python, peers: PeerRates, one: Case, options: BenchOptions): Promise<Result> {
  await ourRate(one, false, options.seconds)
  const lockstep = one.learners > 1 ? { lockstep: await ourRate(one, true, options.seconds) } : {}
  const { best, rates } = await peers.of(one)
  const sides: Side[] = []
  try {
    const ours = await startOurs(one, { backend: 'cuda' })
    sides.push(ours)
    const peer = await startPyTorch(python, one, best)
    sides.push(peer)
    const compared = await compare(ours, peer, { pairs: options.pairs, seconds: options.seconds })
    return { bench: 'gpu', case: one.name, peer: 'pytorch', peerMode: best, unit: 'images/s', ...compared, peerModes: rates, ...lockstep }
  } finally {
    for (const side of sides) side.close()
  }
}

/** Learners on one GPU against PyTorch's best way of using it. */
export const gpu: Bench = {
  summary: 'images/s of training on a GPU, learners with SMA at every step against PyTorch: eager, CUDA graph, compiled, stacked replicas',
  filters: [
    'as throughput; without one: lenet resnet32, batch 16, 1 and 8 learners, bf16',
    "eager, graph, compile, stacked: PyTorch's modes to try (all)"
  ],

  async run(filters, options) {
    const words = filters.flatMap((filter) => filter.split(/\s+/)).filter((word) => word !== '')
    const modes = MODES.filter((mode) => words.includes(mode))
    const others = words.filter((word) => !MODES.some((mode) => mode === word))
    const cases = chosenCases(others.length > 0 ? others : ['lenet', 'resnet32', 'b16', 'k1', 'k8', 'bf16'])
    const [python] = await pythonsWithTorch()
    const peers = new PeerRates(python!, modes.length > 0 ? modes : MODES, options.seconds)
    const table = new Table([28, 10, 10, 7, 15], options.json ? null : process.stdout)
    table.row(['case', 'images/s', 'PyTorch', 'ratio', 'min-max'])
    const results: Result[] = []
    for (const one of cases) {
      const result = await measure(python!, peers, one, options)
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
