import { BYTES } from '../../compiler/element-types.js'
import type { ParameterLayout } from '../../compiler/program.js'
import type { Engine, Handle, LevelSpec, RulePlace, SynchronousRule } from '../../engine/contract.js'
import { planExchange } from '../../hosts/exchange/plan.js'

/** The level of a group over hosts. `capacities` are by rank and say how much of the sums each makes beside the others. */
export function hostsLevel(
  engine: Pick<Engine, 'levelBuckets'>,
  hosts: Handle,
  capacities: readonly number[],
  { layout, rule, ruleAt = 'all' }: { readonly layout: ParameterLayout; readonly rule: SynchronousRule; readonly ruleAt?: RulePlace }
): LevelSpec {
  const bounds = engine.levelBuckets(layout, rule)
  const buckets = Array.from({ length: bounds.length / 2 }, (_, i) => ({ begin: bounds[2 * i]!, end: bounds[2 * i + 1]! }))
  return { kind: 'hosts', hosts, ruleAt, chunks: planExchange(buckets, capacities, { elementBytes: BYTES[layout.parameters[0]!.type] }) }
}
