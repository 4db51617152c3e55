/**
 * exchange-child BYTES TURNS [EXCHANGE RACKS HUBS], on each host: sums of so many bytes over the hosts, as a round of a run makes them; at the last hosts, if there
 * are hubs.
 */
import { endHosts, engine, openHosts, type Racks, type RunExchange } from '../internals.js'
import { summed } from './summing.js'

const [bytes = '', turns = '', exchange = 'sharded', racks = '[]', hubs = '0'] = process.argv.slice(2)
/** Connections are made by the first ones. */
const WARM = 3

const hosts = await openHosts(engine, { kind: 'mpi', deadline: 60 })
const { rank } = engine.hostsPlace(hosts)!
const before = process.cpuUsage()
const how = { exchange: exchange as RunExchange, racks: JSON.parse(racks) as Racks, hubs: Number(hubs) }
const seconds = summed(engine, hosts, Number(bytes), WARM + Number(turns), how).subarray(WARM)
const { user, system } = process.cpuUsage(before)
if (rank === 0) {
  const answer = { seconds: [...seconds], busy: (user + system) / 1e6 }
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
await endHosts(engine, hosts, 10)
engine.release(hosts)
