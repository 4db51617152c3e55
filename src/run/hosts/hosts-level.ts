import { BYTES } from '../../compiler/element-types.js'
import type { ParameterLayout } from '../../compiler/program.js'
import type { Engine, Handle, LevelSpec, RulePlace, SumOrder, SynchronousRule } from '../../engine/contract.js'
import { planExchange } from '../../hosts/exchange/plan.js'
import { summingRacks, type Racks, type RunExchange } from '../../hosts/exchange/racks.js'

/** What a group over hosts sums, and how. */
export interface HostsLevelOptions {
  readonly layout: ParameterLayout
  readonly rule: SynchronousRule
  readonly ruleAt?: RulePlace
  /** `ranks` if omitted. */
  readonly order?: SumOrder
  /** `sharded` if omitted. */
  readonly exchange?: RunExchange
  /** All ranks; for the exchange by racks. */
  readonly racks?: Racks
}

/** The level of a group over hosts. `capacities` are by rank and say how much of the sums each makes beside the others. */
export function hostsLevel(
  engine: Pick<Engine, 'levelBuckets'>,
  hosts: Handle,
  capacities: readonly number[],
  { layout, rule, ruleAt = 'all', order = 'ranks', exchange = 'sharded', racks: given = [] }: HostsLevelOptions
): LevelSpec {
  const bounds = engine.levelBuckets(layout, rule)
  const buckets = Array.from({ length: bounds.length / 2 }, (_, i) => ({ begin: bounds[2 * i]!, end: bounds[2 * i + 1]! }))
  const racks = summingRacks(exchange, given, capacities)
  const chunks = planExchange(buckets, capacities, { elementBytes: BYTES[layout.parameters[0]!.type], racks })
  return { kind: 'hosts', hosts, ruleAt, order, racks, chunks }
}
