/**
 * cost-child BYTES RACKS SECONDS, on each host: the links between the hosts are measured and an exchange is chosen, as a run does it; then every way to sum is
 * timed for so many seconds.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { chooseExchange, endHosts, engine, linkCosts, openHosts, type LinkFigures, type Racks } from '../internals.js'
import { summed } from './summing.js'

const [bytes = '', given = '', seconds = ''] = process.argv.slice(2)
/** Connections are made by the first ones. */
const WARM = 2

const hosts = await openHosts(engine, { kind: 'mpi', deadline: 60 })
const { rank, size } = engine.hostsPlace(hosts)!
const racks = given === '[]' ? [Array.from({ length: size }, (_, each) => each)] : (JSON.parse(given) as Racks)
const begin = performance.now()
const measurement = engine.measureLinks(hosts)
let figures: LinkFigures | null = null
while (!figures) {
  await sleep(5)
  figures = engine.linkFigures(measurement)
}
engine.release(measurement)
const measuring = (performance.now() - begin) / 1000
const costs = linkCosts(figures, racks)
const { exchange, candidates } = chooseExchange(Number(bytes), racks, costs)
const ways = candidates.map((candidate) => {
  // All hosts predict the same, and so make as many turns.
  const turns = Math.max(3, Math.min(50, Math.ceil((1000 * Number(seconds)) / candidate.milliseconds)))
  const times = summed(engine, hosts, Number(bytes), WARM + turns, { exchange: candidate.exchange, racks }).subarray(WARM)
  const sorted = times.toSorted()
  return { ...candidate, measured: 1000 * sorted[Math.floor(sorted.length / 2)]! }
})
if (rank === 0) process.stdout.write(`${JSON.stringify({ exchange, ways, costs, measuring })}\n`)
await endHosts(engine, hosts, 10)
engine.release(hosts)
