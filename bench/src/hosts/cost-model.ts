import { loadavg } from 'node:os'
import { comparison } from '../pairs.js'
import { median } from '../statistics.js'
import type { BenchOptions } from '../bench.js'
import { rateName } from './cases.js'
import type { HubResult } from './hub-result.js'
import { Laboratory, type ShapedRacks } from './laboratory.js'
import { answerOf, node, onAllHosts, openMpi } from './mpi.js'

/** A choice is right if no other way is faster than the chosen one by more than this factor. */
const AS_FAST = 1.05
/** Of each way to sum, in seconds. */
const MOST = 1
/** Launches of a case: Open MPI 5 loses one process in some hundred. */
const LAUNCHES = 3

interface Shape {
  readonly hosts: number
  readonly mbit: number
  readonly racks?: ShapedRacks
}

/** Vectors of 0.4 and 1.7 MB. */
const SIZES = [431_104, 1_724_320]
const ACROSS: readonly (readonly [mbit: number, across: number])[] = [
  [100, 100],
  [100, 25],
  [200, 100],
  [200, 50],
  [200, 25],
  [400, 100]
]
const SHAPES: readonly Shape[] = [
  ...[2, 4].flatMap((hosts) => [50, 200, 500].map((mbit): Shape => ({ hosts, mbit }))),
  ...ACROSS.map(([mbit, acrossMbit]): Shape => ({ hosts: 4, mbit, racks: { perRack: 2, acrossMbit } }))
]

/** What the hosts of a shape tell. */
interface Answer {
  readonly exchange: string
  readonly ways: readonly { readonly exchange: string; readonly milliseconds: number; readonly measured: number }[]
  /** Seconds that the links were measured. */
  readonly measuring: number
}

/** What the model predicts beside what is measured, in 24 shapes of hosts, links and vectors. */
export async function costModel(options: BenchOptions): Promise<readonly HubResult[]> {
  const mpi = openMpi()
  const cases: (Answer & { readonly shape: string; readonly right: boolean })[] = []
  let failedLaunches = 0
  const seconds = Math.min(MOST, options.seconds)
  for (const { hosts, mbit, racks } of SHAPES) {
    await using laboratory = await Laboratory.open(hosts, mbit, racks)
    const given = racks ? Array.from({ length: hosts / racks.perRack }, (_, i) => ranksOf(i, racks.perRack)) : []
    for (const bytes of SIZES) {
      const command = node('cost-child.js', [bytes, JSON.stringify(given), seconds])
      let answer: Answer | undefined
      for (let launches = 1; !answer; launches++) {
        try {
          answer = await answerOf<Answer>(onAllHosts(mpi, laboratory, command), 4 * seconds)
        } catch (error) {
          if (launches === LAUNCHES) throw error
          failedLaunches++
        }
      }
      const chosen = answer.ways.find(({ exchange }) => exchange === answer.exchange)!
      const right = answer.ways.every(({ measured }) => chosen.measured <= AS_FAST * measured)
      const across = racks ? ` racks of ${racks.perRack} across ${rateName(racks.acrossMbit)}` : ''
      cases.push({ shape: `h${hosts} ${rateName(mbit)}${across} ${(bytes / 1e6).toFixed(1)} MB`, right, ...answer })
      if (!options.json) process.stderr.write(`${told(cases.at(-1)!)}\n`)
    }
  }
  const ways = cases.flatMap((each) => each.ways)
  return [
    {
      bench: 'hub',
      case: 'cost-model',
      peer: 'measured',
      unit: 'ms',
      ...comparison(
        ways.map(({ milliseconds }) => milliseconds),
        ways.map(({ measured }) => measured)
      ),
      medianError: median(ways.map(({ milliseconds, measured }) => Math.abs(milliseconds / measured - 1))),
      rightChoices: cases.filter(({ right }) => right).length / cases.length,
      failedLaunches,
      measuringSeconds: Math.max(...cases.map(({ measuring }) => measuring)),
      cases,
      mpi: mpi.name,
      load: loadavg()[0]!
    }
  ]
}

function ranksOf(rack: number, perRack: number): readonly number[] {
  return Array.from({ length: perRack }, (_, i) => rack * perRack + i)
}

function told({ shape, ways, exchange, right }: Answer & { readonly shape: string; readonly right: boolean }): string {
  const times = ways.map((way) => `${way.exchange} ${way.milliseconds.toFixed(1)} (${way.measured.toFixed(1)})`)
  return `${shape}: predicted ms (measured): ${times.join(', ')}; ${exchange}, ${right ? 'right' : 'wrong'}`
}
