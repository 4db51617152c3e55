import { hostsLevel, type engine as nativeEngine, type Handle, type Racks, type RunExchange } from '../internals.js'

const RULE = { kind: 'synchronous', central: { kind: 'sma', alpha: null, momentum: 0 }, adopts: false, period: 1, from: 0 } as const

/** The seconds of each of some sums of so many bytes over all hosts, as a round of a run makes them; the last ones may be hubs. All hosts call it. */
export function summed(
  engine: typeof nativeEngine,
  hosts: Handle,
  bytes: number,
  turns: number,
  { hubs = 0, ...how }: { readonly exchange?: RunExchange; readonly racks?: Racks; readonly hubs?: number } = {}
): Float64Array {
  const elements = bytes / Float32Array.BYTES_PER_ELEMENT
  const parameter = { name: 'all', shape: [elements], type: 'f32', layout: 'plain', offset: 0, bytes, canonical: 0 } as const
  const layout = { parameters: [parameter], bytes, elements }
  const { rank, size } = engine.hostsPlace(hosts)!
  const capacities = Array.from({ length: size }, (_, host) => (hubs === 0 || host >= size - hubs ? 1 : 0))
  const parts = hubs > 0 && capacities[rank]! > 0 ? 0 : 1
  const level = hostsLevel(engine, hosts, capacities, { layout, rule: RULE, ...how })
  return engine.timeLevel('cpu', level, parts, bytes, turns)
}
