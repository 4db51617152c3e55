/** exchange-child BYTES TURNS, on each host: sums of so many bytes over the hosts, as a round of a run makes them. */
import { endHosts, engine, hostsLevel, openHosts } from '../internals.js'

const [bytes = '', turns = ''] = process.argv.slice(2)
/** Connections are made by the first ones. */
const WARM = 3

const hosts = await openHosts(engine, { kind: 'mpi', deadline: 60 })
const elements = Number(bytes) / Float32Array.BYTES_PER_ELEMENT
const parameter = { name: 'all', shape: [elements], type: 'f32', layout: 'plain', offset: 0, bytes: Number(bytes), canonical: 0 } as const
const layout = { parameters: [parameter], bytes: Number(bytes), elements }
const rule = { kind: 'synchronous', central: { kind: 'sma', alpha: null, momentum: 0 }, adopts: false, period: 1, from: 0 } as const
const capacities = Array.from({ length: engine.hostsPlace(hosts)!.size }, () => 1)
const level = hostsLevel(engine, hosts, capacities, { layout, rule })
const before = process.cpuUsage()
const seconds = engine.timeLevel('cpu', level, 1, Number(bytes), WARM + Number(turns)).subarray(WARM)
const { user, system } = process.cpuUsage(before)
if (engine.hostsPlace(hosts)!.rank === 0) {
  const answer = { seconds: [...seconds], busy: (user + system) / 1e6 }
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
await endHosts(engine, hosts, 10)
engine.release(hosts)
