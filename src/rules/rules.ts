import type { GroupRule } from '../engine/contract.js'
import { diloco } from './diloco.js'
import { downpour, type DownpourOptions, type BoundOptions } from './downpour.js'
import { easgd, type EasgdOptions } from './easgd.js'
import { hogwild } from './hogwild.js'
import { localSgd, postLocalSgd, type LocalSgdOptions, type PostLocalSgdOptions } from './local-sgd.js'
import { lookahead, type LookaheadOptions } from './lookahead.js'
import { polyakRuppert, type PolyakRuppertOptions } from './polyak-ruppert.js'
import type { RuleContext } from './rule-options.js'
import { slowmo, type OuterMomentumOptions } from './slowmo.js'
import { sma, type SmaOptions } from './sma.js'
import { ssgd } from './ssgd.js'

/** Every rule by its name: from options, checked, to the data that the engine's group carries out. */
export const rules = {
  sma,
  ssgd,
  easgd,
  eamsgd: easgd,
  'polyak-ruppert': polyakRuppert,
  'local-sgd': localSgd,
  'post-local-sgd': postLocalSgd,
  lookahead,
  slowmo,
  diloco,
  downpour,
  hogwild
} as const satisfies Readonly<Record<string, (options: never, context: RuleContext) => GroupRule>>

/** A name of a rule that keeps learners together. */
export type RuleName = keyof typeof rules

/** The rules that `synchroniser` and `--sync` know; docs/synchronisers.md tells them apart. */
export const ruleNames = Object.keys(rules) as readonly RuleName[]

/** Options of the rules that have a name. */
export type NamedRule =
  | ({ readonly name?: 'sma' } & SmaOptions)
  | { readonly name: 'ssgd' }
  | ({ readonly name: 'easgd' | 'eamsgd' } & EasgdOptions)
  | ({ readonly name: 'polyak-ruppert' } & PolyakRuppertOptions)
  | ({ readonly name: 'local-sgd' } & LocalSgdOptions)
  | ({ readonly name: 'post-local-sgd' } & PostLocalSgdOptions)
  | ({ readonly name: 'lookahead' } & LookaheadOptions)
  | ({ readonly name: 'slowmo' | 'diloco' } & OuterMomentumOptions)
  | ({ readonly name: 'downpour' } & DownpourOptions)
  | ({ readonly name: 'hogwild' } & BoundOptions)

/** Throws INVALID_OPTION and UNKNOWN_NAME, with every fault. */
export function ruleOf(name: RuleName, options: object, context: RuleContext): GroupRule {
  return rules[name](options, context)
}
