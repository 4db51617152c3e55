import * as v from 'valibot'
import type { GroupRule } from '../engine/contract.js'
import { group, option, required, variants, type Choices, type OptionGroup } from '../schema/group.js'
import type { Schema } from '../schema/values.js'
import { diloco } from './diloco.js'
import { downpour, type DownpourOptions } from './downpour.js'
import { easgd, type EasgdOptions } from './easgd.js'
import { hogwild, type BoundOptions } from './hogwild.js'
import { localSgd, postLocalSgd, type LocalSgdOptions, type PostLocalSgdOptions } from './local-sgd.js'
import { lookahead, type LookaheadOptions } from './lookahead.js'
import { parameterServer, type ParameterServerOptions } from './parameter-server.js'
import { polyakRuppert, type PolyakRuppertOptions } from './polyak-ruppert.js'
import type { RuleContext } from './rule.js'
import { slowmo, type OuterMomentumOptions } from './slowmo.js'
import { sma, type SmaOptions } from './sma.js'
import { ssgd } from './ssgd.js'

/** Every rule by its name. */
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
  hogwild,
  'parameter-server': parameterServer
} as const satisfies Readonly<Record<string, (options: never, context: RuleContext) => GroupRule>>

/** The name of a rule that keeps learners together. */
export type RuleName = keyof typeof rules

/** The rules that `synchroniser` and `--synchroniser` name; docs/synchronisers.md tells them apart. */
export const ruleNames = Object.keys(rules) as readonly RuleName[]

/** A rule by its name, with its options. */
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
  | ({ readonly name: 'parameter-server' } & ParameterServerOptions)

const DDP = 'what DistributedDataParallel does is ssgd'
const AVERAGE = 'that is an average for evaluation beside any rule: use average (--average)'

/** Names that one may know from elsewhere, or of what is no rule here. */
export const NO_RULES = { ddp: DDP, allreduce: DDP, horovod: DDP, ema: AVERAGE, swa: AVERAGE, lawa: AVERAGE }

const NAME = {
  text: `how the learners are kept together: ${ruleNames.join(', ')}`,
  flag: '--sync, --synchroniser <rule>',
  takes: ruleNames.join(', '),
  otherwise: 'sma',
  common: true,
  chooses: true
} as const

const named = (name: RuleName): OptionGroup => {
  const own = name === 'sma' ? option(v.literal(name), { ...NAME, default: name }) : required(v.literal(name), NAME)
  return group({ name: own, ...rules[name].options.entries })
}

/** `sma` if the name is omitted. */
export const namedRule = variants('name', Object.fromEntries(ruleNames.map((name) => [name, named(name)])), {
  usual: 'sma',
  hints: NO_RULES
}) as Schema as Schema<NamedRule, { readonly name: RuleName }> & Choices

/** Throws INVALID_OPTION and UNKNOWN_NAME, with every fault. */
export function ruleOf(rule: RuleName, options: object, context: RuleContext): GroupRule {
  return rules[rule](options, context)
}
