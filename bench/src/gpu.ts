import { fileURLToPath } from 'node:url'
import { Attempts } from './attempts.js'
import type { Bench, BenchOptions } from './bench.js'
import { chosenCases, workloadOf, type Case } from './cases.js'
import { ArbalestError } from './errors.js'
import { startOurs } from './ours.js'
import { compare, type Comparison } from './pairs.js'
import { pythonsWithTorch, type Python } from './python.js'
import { saveResults } from './results.js'
import { Side } from './side.js'
import { Table } from './table.js'

/** How PyTorch may train on a GPU; `stacked` are as many replicas as we have learners, by torch.func, without averaging. */
const MODES = ['eager', 'graph', 'compile', 'stacked'] as const
type Mode = (typeof MODES)[number]

interface Result {
  readonly bench: 'gpu'
  readonly case: string
  readonly peer: 'pytorch'
  readonly unit: 'images/s'
  /** Images/s of a window of ours alone, before the comparison. */
  readonly alone?: number
  /** Images/s of each of the peer's modes, or why one did not run. */
  readonly peerModes: Readonly<Record<string, number | string>>
  /** The fastest of them, which ours was compared with. */
  readonly peerMode?: string
  readonly compared?: Comparison
  /** Images/s of ours with the learners in lockstep, where there are several. */
  readonly lockstep?: number
  /** What of all this could not be measured, and why. */
  readonly failures: Readonly<Record<string, string>>
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
  const attempts = new Attempts()
  const rate = await attempts.of(mode, () => windowOf(startPyTorch(python, one, mode), seconds))
  return rate ?? attempts.failures[mode]!
}

/** Of a side that runs for nothing else. */
async function windowOf(starting: Promise<Side>, seconds: number): Promise<number> {
  const side = await starting
  try {
    return await side.run(seconds)
  } finally {
    side.close()
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

  /** A window a mode; `best` is undefined where none ran. */
  async of(one: Case): Promise<{ best: Mode | undefined; rates: Result['peerModes'] }> {
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
    return { best: ran.toSorted((a, b) => Number(rates[b]) - Number(rates[a]))[0], rates }
  }
}

/** On stderr, as it comes: the whole comparison may take minutes, and may be cut off. */
function tell(one: Case, what: string, found: number | string): void {
  process.stderr.write(`${one.name}: ${what}: ${typeof found === 'number' ? `${found.toFixed(0)} images/s` : found}\n`)
}

/** What matters most comes first: a case may be cut off. Whatever fails is told in the result, and the rest is measured. */
async function measure(python: Python, peers: PeerRates, one: Case, { pairs, seconds }: BenchOptions): Promise<Result> {
  const attempts = new Attempts()
  const attempt = async <T extends number | Comparison>(what: string, work: () => Promise<T>): Promise<T | undefined> => {
    const found = await attempts.of(what, work)
    tell(one, what, typeof found === 'object' ? `${found.ratio.toFixed(2)} times PyTorch` : (found ?? attempts.failures[what]!))
    return found
  }
  const alone = await attempt('ours', () => windowOf(startOurs(one, { backend: 'cuda' }), seconds))
  const { best, rates } = await peers.of(one)
  // Where one of the two does not run, its own words are there already.
  const compared =
    best !== undefined && alone !== undefined
      ? await attempt('compared', () => compareWith(python, one, best, { pairs, seconds }))
      : undefined
  const lockstep =
    one.learners > 1
      ? await attempt('in lockstep', () => windowOf(startOurs(one, { backend: 'cuda', lockstep: true }), seconds))
      : undefined
  return {
    bench: 'gpu',
    case: one.name,
    peer: 'pytorch',
    unit: 'images/s',
    ...(alone !== undefined && { alone }),
    peerModes: rates,
    ...(best !== undefined && { peerMode: best }),
    ...(compared && { compared }),
    ...(lockstep !== undefined && { lockstep }),
    failures: attempts.failures
  }
}

async function compareWith(python: Python, one: Case, mode: Mode, options: { pairs: number; seconds: number }): Promise<Comparison> {
  const sides: Side[] = []
  try {
    const ours = await startOurs(one, { backend: 'cuda' })
    sides.push(ours)
    const peer = await startPyTorch(python, one, mode)
    sides.push(peer)
    return await compare(ours, peer, options)
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
      const { compared, alone, lockstep, failures } = result
      const images = compared?.value ?? alone
      const [peer, ratio, range] = compared
        ? [compared.peerValue.toFixed(0), compared.ratio.toFixed(2), `${compared.min.toFixed(2)}-${compared.max.toFixed(2)}`]
        : ['-', '-', '-']
      table.row([result.case, images?.toFixed(0) ?? 'failed', peer, ratio, range])
      if (lockstep !== undefined) table.note(`in lockstep ${lockstep.toFixed(0)} images/s`)
      table.note(`PyTorch ${python!.torch}, ${result.peerMode ?? 'in no mode'}; ${JSON.stringify(result.peerModes)}`)
      for (const [what, why] of Object.entries(failures)) table.note(`${what}: ${why}`)
    }
    if (options.save !== undefined) await saveResults(options.save, results)
    const failed = results.filter(({ compared, failures }) => !compared || Object.keys(failures).length > 0)
    if (failed.length > 0)
      throw new ArbalestError('INTERNAL', `gpu: ${failed.map((each) => each.case).join(', ')}: not all of it could be measured`)
  }
}
