import type { Bench, BenchOptions } from './bench.js'
import { ArbalestError } from './errors.js'
import { MODELS, chosenCases, rateUnitOf, type Case, type RateUnit } from './cases.js'
import { engine } from './internals.js'
import { startOurs, startPeak } from './ours.js'
import { compare, type Comparison } from './pairs.js'
import { profileCase } from './profile.js'
import { chosenPeers, fastestOf, waysOf } from './peers/fastest.js'
import type { PeerName, Way } from './peers/way.js'
import { checkSaved, saveCase } from './results.js'
import { median } from './statistics.js'
import { Table } from './table.js'

/** One line of `--json`. */
interface Result extends Comparison {
  readonly bench: 'throughput'
  readonly case: string
  readonly peer: PeerName
  /** The peer's version and its fastest way. */
  readonly peerMode: string
  readonly unit: RateUnit
  /** Floating-point operations per second of fused multiply-adds on as many cores as there are learners. */
  readonly peak: number
  /** Our share of the peak, by the operations of our Program. */
  readonly share: number
  readonly peerShare: number
  /** Of an image, or of a token. */
  readonly flopsPerUnit: number
  /** Work per second of each way of the peers, in the short windows that chose the fastest one; null for one that failed. */
  readonly peerModes: Readonly<Record<string, number | null>>
}

async function measure(one: Case, ways: readonly Way[], options: BenchOptions): Promise<Result> {
  const peer = await fastestOf(one, ways, Math.min(2, options.seconds))
  const ours = await startOurs(one)
  const fma = await startPeak(one.learners)
  try {
    const peaks: number[] = []
    const compared = await compare(ours, peer.side, {
      pairs: options.pairs,
      seconds: options.seconds,
      between: async () => void peaks.push(await fma.run(0.1))
    })
    const peak = median(peaks)
    const flopsPerUnit = Number(ours.greeting['flopsPerUnit'])
    return {
      bench: 'throughput',
      case: one.name,
      peer: peer.peer,
      peerMode: peer.name,
      unit: rateUnitOf(one.model),
      ...compared,
      peak,
      share: (compared.value * flopsPerUnit) / peak,
      peerShare: (compared.peerValue * flopsPerUnit) / peak,
      flopsPerUnit,
      peerModes: peer.rates
    }
  } finally {
    for (const side of [ours, peer.side, fma]) side.close()
  }
}

/** The cases that this machine can run, and the reasons against the others. */
function possible(cases: readonly Case[]): { cases: readonly Case[]; omitted: readonly string[] } {
  const cpu = engine.describe().backends.find((backend) => backend.name === 'cpu')
  if (cpu?.available !== true) {
    throw new ArbalestError(
      'BACKEND_UNAVAILABLE',
      `backend: received cpu, which is not available (${cpu?.detail ?? 'not built'}); run arbalest doctor`
    )
  }
  const able = cases.filter((one) => cpu.precisions.includes(one.precision))
  const omitted = cases
    .filter((one) => !able.includes(one))
    .map((one) => `${one.name}: omitted, because this processor has no fast ${one.precision}`)
  return { cases: able, omitted }
}

const COLUMNS = [28, 10, 10, 7, 15, 9, 9] as const
const images = (rate: number): string => rate.toFixed(rate < 100 ? 1 : 0)
const percent = (share: number): string => `${(100 * share).toFixed(0)}%`

/** Images per second of training: two or more learners with SMA at every step against the fastest way of the peers. */
export const throughput: Bench = {
  summary: 'images/s of training, learners with SMA at every step against the fastest way of PyTorch, JAX and TensorFlow.js',
  filters: [
    `models ${MODELS.join(' ')}; batches b4 b8 b16 b32; learners k2; f32 bf16:`,
    'all combinations of the words that are named; `lenet mlp b8` are two models at batch 8'
  ],
  takes: ['pairs', 'seconds', 'save', 'peers', 'ways', 'profile'],

  async run(filters, options) {
    const { cases, omitted } = possible(chosenCases(filters))
    for (const line of omitted) process.stderr.write(`${line}\n`)
    if (options.profile) {
      for (const one of cases) await profileCase(one, options)
      return
    }
    const peers = chosenPeers(options.peers)
    if (options.save !== undefined) await checkSaved(options.save)
    const ways = new Map<Case, readonly Way[]>()
    for (const one of cases) ways.set(one, await waysOf(one, peers, options.ways))
    const table = new Table(COLUMNS, options.json ? null : process.stdout)
    table.row(['case', 'units/s', 'peer', 'ratio', 'min-max', 'of peak', 'peer'])
    for (const [one, ofPeers] of ways) {
      const result = await measure(one, ofPeers, options)
      // At once: the next case may take minutes, or fail.
      if (options.save !== undefined) await saveCase(options.save, result)
      if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
      table.row([
        result.case,
        images(result.value),
        images(result.peerValue),
        result.ratio.toFixed(2),
        `${result.min.toFixed(2)}-${result.max.toFixed(2)}`,
        percent(result.share),
        percent(result.peerShare)
      ])
      table.note(
        `${result.unit}; ${result.peerMode}; peak ${(result.peak / 1e9).toFixed(0)} GFLOP/s on ${one.learners} cores; ${result.n} pairs`
      )
    }
  }
}
