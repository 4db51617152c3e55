import { loadavg } from 'node:os'
import { ArbalestError } from '../errors.js'
import { comparison } from '../pairs.js'
import { median } from '../statistics.js'
import type { BenchOptions } from '../bench.js'
import type { Command } from '../side.js'
import { Laboratory, type LinkBytes } from './laboratory.js'
import { answerOf, compiled, node, onAllHosts, openMpi, type Mpi, type Parameters } from './mpi.js'
import { rateName } from './cases.js'
import type { Result } from './result.js'

/** A vector of LeNet's length. */
export const BYTES = 1_724_320
/** First ones, which make the connections; both programs have them. */
const WARM = 3
/** What a link carries may differ by so much from the plan: headers, and what launchers and MPI send besides. */
const TOLERANCE = 0.05

/** The algorithms of Open MPI's allreduce, by their numbers there. */
const ALGORITHMS = ['linear', 'non-overlapping', 'recursive doubling', 'ring', 'segmented ring', 'Rabenseifner', 'allgather and reduce']
/** Seconds of each algorithm, twice, to choose the best. */
export const TRIAL = 1

/** One way to sum a vector over all hosts. */
export interface Way {
  readonly name: string
  readonly command: Command
  readonly parameters: Parameters
  /** Whether it sends what the plan says and no more. */
  readonly exact: boolean
}

/** What a child tells. */
export interface Times {
  readonly seconds: readonly number[]
}

class Contest {
  /** Bytes that each host has to send at least for one sum, and to receive. */
  readonly plan: number
  readonly #mpi: Mpi
  readonly #laboratory: Laboratory
  readonly #bytesPerSecond: number
  /** Counted bytes by planned ones, of all windows of our own. */
  readonly counted: number[] = []

  constructor(mpi: Mpi, laboratory: Laboratory, mbit: number) {
    this.#mpi = mpi
    this.#laboratory = laboratory
    this.#bytesPerSecond = (mbit * 1e6) / 8
    this.plan = (2 * BYTES * (laboratory.hosts - 1)) / laboratory.hosts
  }

  /** The share of the bound that a way reaches in a window of its own launch. Throws INTERNAL if the bytes have gone elsewhere. */
  async run(way: Way, seconds: number): Promise<number> {
    const bound = this.plan / this.#bytesPerSecond
    const turns = Math.max(3, Math.ceil(seconds / bound))
    const before = await this.#laboratory.bytes()
    const command = { ...way.command, args: [...way.command.args, String(BYTES), String(turns)] }
    const answer = await answerOf<Times>(onAllHosts(this.#mpi, this.#laboratory, command, way.parameters), seconds)
    this.#check(way, before, await this.#laboratory.bytes(), (WARM + turns) * this.plan)
    return (bound * answer.seconds.length) / answer.seconds.reduce((sum, one) => sum + one, 0)
  }

  /** Our sum sends on each link what is planned; every other sends at least as much in all. */
  #check(way: Way, before: readonly LinkBytes[], after: readonly LinkBytes[], planned: number): void {
    const ratios = after.flatMap(({ sent, received }, host) => [
      (sent - before[host]!.sent) / planned,
      (received - before[host]!.received) / planned
    ])
    const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length
    if (way.exact) this.counted.push(...ratios)
    if (way.exact ? ratios.every((ratio) => Math.abs(ratio - 1) <= TOLERANCE) : mean >= 1 - TOLERANCE) return
    const told = ratios.map((ratio) => ratio.toFixed(2)).join(', ')
    throw new ArbalestError(
      'INTERNAL',
      `exchange: ${way.name}: the links carried ${told} of what is planned; look at the interfaces that MPI uses`
    )
  }
}

/** MPI_Allreduce as it is by default, and by each of its algorithms. */
export async function allreduces(mpi: Mpi): Promise<{ readonly usual: Way; readonly algorithms: readonly Way[] }> {
  const command = { program: await compiled(mpi, 'allreduce.c'), args: [] }
  // Processes outnumber the cores of one machine: those that wait let the others run.
  const patient = { mpi_yield_when_idle: '1' }
  const algorithms = ALGORITHMS.map((name, index): Way => {
    const parameters = { ...patient, coll_tuned_use_dynamic_rules: '1', coll_tuned_allreduce_algorithm: String(index + 1) }
    return { name, command, parameters, exact: false }
  })
  return { usual: { name: 'default', command, parameters: patient, exact: false }, algorithms }
}

/** The fastest of MPI_Allreduce's algorithms on these links: the better of two short windows counts. */
export async function bestOf(
  run: (way: Way) => Promise<number>,
  ways: readonly Way[]
): Promise<{ best: Way; shares: Readonly<Record<string, number>> }> {
  const shares = new Map<Way, number>(ways.map((way) => [way, 0]))
  for (let pass = 0; pass < 2; pass++) {
    for (const way of ways) shares.set(way, Math.max(shares.get(way)!, await run(way)))
  }
  const best = ways.reduce((one, other) => (shares.get(other)! > shares.get(one)! ? other : one))
  return { best, shares: Object.fromEntries([...shares].map(([{ name }, share]) => [name, share])) }
}

/** Sums over hosts, ours beside the bound of the links and MPI_Allreduce. One row a peer. */
export async function exchange(hosts: number, mbit: number, options: BenchOptions): Promise<readonly Result[]> {
  const mpi = openMpi()
  const ours: Way = { name: 'arbalest', command: node('exchange-child.js', []), parameters: {}, exact: true }
  const { usual, algorithms } = await allreduces(mpi)
  await using laboratory = await Laboratory.open(hosts, mbit)
  const contest = new Contest(mpi, laboratory, mbit)
  const { best, shares } = await bestOf((way) => contest.run(way, TRIAL), [usual, ...algorithms])
  const ways = [ours, usual, best]
  const found = new Map<Way, number[]>(ways.map((way) => [way, []]))
  for (let pair = 0; pair < options.pairs; pair++) for (const [way, of] of found) of.push(await contest.run(way, options.seconds))
  const ourShares = found.get(ours)!
  const rate = (share: number) => (share * mbit) / 8
  const row = (peer: string, peerShares: readonly number[], more: object): Result => ({
    bench: 'hosts',
    case: `exchange h${hosts} ${rateName(mbit)}`,
    peer,
    unit: 'MB/s',
    ...comparison(ourShares.map(rate), peerShares.map(rate)),
    ...more,
    bytes: BYTES,
    mpi: mpi.name,
    counted: median(contest.counted),
    load: loadavg()[0]!
  })
  return [
    row(
      'bound',
      ourShares.map(() => 1),
      {}
    ),
    row('allreduce', found.get(usual)!, { peerMode: usual.name }),
    row('allreduce-best', found.get(best)!, { peerMode: best.name, peerModes: shares })
  ]
}
