import type { BenchOption, BenchOptions } from '../bench.js'
import { invalidOption, unknownName } from '../errors.js'

export const KINDS = ['exchange', 'throughput', 'pace', 'steps', 'tta'] as const
export type Kind = (typeof KINDS)[number]
export const RULES = ['sma', 'local-sgd'] as const

/** What a call of the bench asks for. What no word names has its usual values. */
export interface Chosen {
  readonly kinds: ReadonlySet<Kind>
  readonly hosts: readonly number[]
  /** Rates of the links, in megabits a second. */
  readonly mbit: readonly number[]
  readonly models: readonly string[]
  readonly rules: readonly (typeof RULES)[number][]
  readonly batches: readonly number[]
}

const WORDS = [...KINDS, ...RULES, 'lenet', 'resnet20', 'h2', 'h4', '200mbit', '1gbit', 'b16']

/** `exchange h4 200mbit` is one case, `exchange` all of its kind. Throws UNKNOWN_NAME. */
export function chosen(filters: readonly string[]): Chosen {
  const words = filters.flatMap((filter) => filter.split(/\s+/)).filter((word) => word !== '')
  const among = <Name extends string>(names: readonly Name[]) => words.filter((word): word is Name => names.includes(word as Name))
  const numbers = (form: RegExp) => words.flatMap((word) => form.exec(word)?.[1] ?? []).map(Number)
  const kinds = among(KINDS)
  const models = among(['lenet', 'resnet20'] as const)
  const rules = among(RULES)
  const [hosts, batches] = [numbers(/^h([2-8])$/), numbers(/^b([1-9]\d{0,3})$/)]
  const mbit = [...numbers(/^([1-9]\d{0,5})mbit$/), ...numbers(/^([1-9]\d{0,2})gbit$/).map((rate) => 1000 * rate)]
  if (kinds.length + models.length + rules.length + hosts.length + batches.length + mbit.length < words.length) {
    const known = /^(h[2-8]|b[1-9]\d{0,3}|[1-9]\d{0,5}mbit|[1-9]\d{0,2}gbit)$/
    throw unknownName(
      'filter',
      words.find((word) => !known.test(word) && !WORDS.includes(word))!,
      WORDS
    )
  }
  return { kinds: new Set(kinds.length > 0 ? kinds : KINDS), hosts, mbit, models, rules, batches }
}

/** Options that only some kinds take. */
const TAKERS = { budget: ['steps'], out: ['steps', 'pace'] } as const satisfies Partial<Record<BenchOption, readonly Kind[]>>

/** Throws INVALID_OPTION for an option that none of the chosen kinds takes. */
export function checkTaken({ kinds }: Chosen, options: Pick<BenchOptions, keyof typeof TAKERS>): void {
  for (const option of ['budget', 'out'] as const) {
    const [given, takers] = [options[option], TAKERS[option]]
    if (given !== undefined && !takers.some((kind) => kinds.has(kind)))
      throw invalidOption(`--${option}`, given, `of the kinds of hosts, only ${takers.join(' and ')} can take it`)
  }
}

export function orUsual<T>(some: readonly T[], usual: readonly T[]): readonly T[] {
  return some.length > 0 ? some : usual
}

/** `200mbit`, `1gbit`. */
export function rateName(mbit: number): string {
  return mbit % 1000 === 0 ? `${mbit / 1000}gbit` : `${mbit}mbit`
}
