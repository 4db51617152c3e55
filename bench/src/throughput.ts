import type { Bench, BenchOptions } from './bench.js'
import { ArbalestError } from './errors.js'
import { chosenCases, type Case } from './cases.js'
import { engine } from './internals.js'
import { startOurs, startPeak } from './ours.js'
import { compare, type Comparison } from './pairs.js'
import { profileCase } from './profile.js'
import { bestPyTorch } from './pytorch.js'
import { pythonsWithTorch, type Python } from './python.js'
import { saveResults } from './results.js'
import { median } from './statistics.js'
import { Table } from './table.js'

/** One line of `--json`. */
interface Result extends Comparison {
  readonly bench: 'throughput'
  readonly case: string
  readonly peer: 'pytorch'
  /** PyTorch's version and its fastest mode. */
  readonly peerMode: string
  readonly unit: 'images/s'
  /** Floating-point operations per second of fused multiply-adds on as many cores as there are learners. */
  readonly peak: number
  /** Our share of the peak, by the operations of our Program. */
  readonly share: number
  readonly peerShare: number
  readonly flopsPerImage: number
  /** Images per second of each of the peer's modes, in the short run that chose the fastest one. */
  readonly peerModes: Readonly<Record<string, number>>
}

async function measure(one: Case, pythons: readonly Python[], options: BenchOptions): Promise<Result> {
  const peer = await bestPyTorch(pythons, one, { seconds: Math.min(2, options.seconds) })
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
    const flopsPerImage = Number(ours.greeting['flopsPerImage'])
    return {
      bench: 'throughput',
      case: one.name,
      peer: 'pytorch',
      peerMode: peer.name,
      unit: 'images/s',
      ...compared,
      peak,
      share: (compared.value * flopsPerImage) / peak,
      peerShare: (compared.peerValue * flopsPerImage) / peak,
      flopsPerImage,
      peerModes: peer.modes
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

/** Images per second of training: two or more learners with SMA at every step against the fastest mode of PyTorch. */
export const throughput: Bench = {
  summary: 'images/s of training, learners with SMA at every step against the fastest mode of PyTorch',
  filters: [
    'models mlp lenet resnet20 resnet32; batches b4 b8 b16 b32; learners k2; f32 bf16:',
    'all combinations of the words that are named; `lenet mlp b8` are two models at batch 8'
  ],

  async run(filters, options) {
    const { cases, omitted } = possible(chosenCases(filters))
    for (const line of omitted) process.stderr.write(`${line}\n`)
    if (options.profile) {
      for (const one of cases) await profileCase(one, options)
      return
    }
    const pythons = await pythonsWithTorch()
    const table = new Table(COLUMNS, options.json ? null : process.stdout)
    table.row(['case', 'images/s', 'PyTorch', 'ratio', 'min-max', 'of peak', 'PyTorch'])
    const results: Result[] = []
    for (const one of cases) {
      const result = await measure(one, pythons, options)
      results.push(result)
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
      table.note(`PyTorch ${result.peerMode}; peak ${(result.peak / 1e9).toFixed(0)} GFLOP/s on ${one.learners} cores; ${result.n} pairs`)
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}
