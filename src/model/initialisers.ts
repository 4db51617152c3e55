import type { Initialiser } from './graph.js'
import { invalidLayer } from './layer-checks.js'

/**
 * Where a layer's weights come from: a name, or plain data.
 *
 * - `kaimingUniform`: uniform within 1/sqrt(fan-in), PyTorch's default for convolutions and linear layers, and ours.
 * - `xavierUniform`, `xavierNormal`: variance 2/(fan-in + fan-out), times gain^2 (Glorot and Bengio, AISTATS 2010).
 * - `heUniform`, `heNormal`: variance 2/fan-out, which keeps the gradients' variance through ReLUs (He et al., ICCV 2015). With `fan: 'in'`
 *   the activations' variance is kept; `slope` is that of a leaky ReLU: the variance becomes 2/((1 + slope^2) fan).
 *   Fan-out is counted as in PyTorch, over all groups of a convolution.
 * - `truncatedNormal`: normal, drawn again beyond `bound` deviations (2) from the mean.
 */
export type WeightInitialiser =
  | 'kaimingUniform'
  | 'xavierUniform'
  | 'xavierNormal'
  | 'heUniform'
  | 'heNormal'
  | { readonly kind: 'constant'; readonly value: number }
  | { readonly kind: 'uniform'; readonly low: number; readonly high: number }
  | { readonly kind: 'normal'; readonly std: number; readonly mean?: number }
  | { readonly kind: 'truncatedNormal'; readonly std: number; readonly mean?: number; readonly bound?: number }
  | { readonly kind: 'xavierUniform' | 'xavierNormal'; readonly gain?: number }
  | { readonly kind: 'heUniform' | 'heNormal'; readonly fan?: 'in' | 'out'; readonly slope?: number }

/** Where the values that a layer learns begin. */
export interface Initialised {
  readonly initialiser?: WeightInitialiser
  /** PyTorch's uniform within 1/sqrt(fan-in) if left out; else `constant`, `uniform`, `normal` or `truncatedNormal`, which need no fan. */
  readonly biasInitialiser?: WeightInitialiser
}

/**
 * How many inputs an output has, and how many outputs an input reaches, as PyTorch counts them: where a convolution has groups its fan-out is that of all
 * groups together.
 */
export interface Fans {
  readonly fanIn: number
  readonly fanOut: number
}

const KINDS = [
  'kaimingUniform',
  'xavierUniform',
  'xavierNormal',
  'heUniform',
  'heNormal',
  'constant',
  'uniform',
  'normal',
  'truncatedNormal'
] as const
type Kind = (typeof KINDS)[number]

/** The numbers that each kind takes; those with a default may be left out. */
const NUMBERS: Readonly<Record<Kind, Readonly<Record<string, number | undefined>>>> = {
  kaimingUniform: {},
  xavierUniform: { gain: 1 },
  xavierNormal: { gain: 1 },
  heUniform: { slope: 0 },
  heNormal: { slope: 0 },
  constant: { value: undefined },
  uniform: { low: undefined, high: undefined },
  normal: { std: undefined, mean: 0 },
  truncatedNormal: { std: undefined, mean: 0, bound: 2 }
}

/**
 * What a layer's choice means for a parameter with these fans; null for one that has none: a bias.
 * Throws INVALID_MODEL with the layer, the parameter and the fix.
 */
export function initialiserOf(layer: string, parameter: string, choice: WeightInitialiser, fans: Fans | null): Initialiser {
  const given: Partial<Record<string, unknown>> = typeof choice === 'string' ? { kind: choice } : Object(choice)
  const kind = given['kind'] as Kind
  if (!KINDS.includes(kind)) throw invalidLayer(layer, parameter, choice, `use one of ${KINDS.join(', ')}`)
  const numbers = numbersOf(layer, parameter, choice, kind)
  if (kind === 'constant') return { kind, value: numbers['value']! }
  if (kind === 'uniform') {
    const { low, high } = numbers as { low: number; high: number }
    if (low >= high) throw invalidLayer(layer, parameter, choice, 'make low less than high')
    return { kind, bound: (high - low) / 2, mean: (high + low) / 2 }
  }
  if (kind === 'normal' || kind === 'truncatedNormal') {
    const { std, mean, bound } = numbers as { std: number; mean: number; bound: number }
    if (std < 0) throw invalidLayer(layer, parameter, choice, 'use a std of at least 0')
    if (kind === 'normal') return { kind, std, mean }
    if (bound < 0.01) throw invalidLayer(layer, parameter, choice, 'use a bound of at least 0.01 deviations')
    return { kind, std, mean, bound }
  }
  if (!fans) throw invalidLayer(layer, parameter, choice, 'it has no fan: use constant, uniform, normal or truncatedNormal')
  if (kind === 'kaimingUniform') return { kind: 'uniform', bound: 1 / Math.sqrt(fans.fanIn) }
  const std = stdOf(layer, parameter, choice, kind, numbers, fans)
  return kind.endsWith('Normal') ? { kind: 'normal', std } : { kind: 'uniform', bound: Math.sqrt(3) * std }
}

function numbersOf(layer: string, parameter: string, choice: WeightInitialiser, kind: Kind): Record<string, number> {
  const given = typeof choice === 'string' ? { kind } : choice
  const known = NUMBERS[kind]
  const strange = Object.keys(given).find((key) => key !== 'kind' && !(key in known) && !(key === 'fan' && kind.startsWith('he')))
  if (strange !== undefined) throw invalidLayer(layer, parameter, choice, `${kind} takes ${Object.keys(known).join(', ') || 'no numbers'}`)
  const numberOf = ([key, otherwise]: [string, number | undefined]): [string, number] => {
    const value = (given as Record<string, unknown>)[key] ?? otherwise
    if (typeof value !== 'number' || !Number.isFinite(Math.fround(value)))
      throw invalidLayer(layer, parameter, choice, `give it a number that a float holds as its ${key}`)
    return [key, value]
  }
  return Object.fromEntries(Object.entries(known).map(numberOf))
}

function stdOf(
  layer: string,
  parameter: string,
  choice: WeightInitialiser,
  kind: Kind,
  { gain = 1, slope = 0 }: Record<string, number>,
  { fanIn, fanOut }: Fans
): number {
  if (kind.startsWith('xavier')) return gain * Math.sqrt(2 / (fanIn + fanOut))
  const { fan = 'out' } = typeof choice === 'string' ? {} : (choice as { fan?: 'in' | 'out' })
  if (fan !== 'in' && fan !== 'out') throw invalidLayer(layer, parameter, choice, 'use in or out as its fan')
  return Math.sqrt(2 / ((1 + slope * slope) * (fan === 'in' ? fanIn : fanOut)))
}
