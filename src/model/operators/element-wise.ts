import type { ValueId } from '../graph.js'
import type { LayerWriter } from './layer-writer.js'

export function leakyRelu(layer: { readonly slope?: number }, to: LayerWriter, x: ValueId): ValueId {
  const slope = to.number('slope', layer.slope ?? 0.01, 'from 0 to less than 2^31', (value) => value >= 0 && value < 2 ** 31)
  return to.simple('leakyRelu', x, to.shape(x), { slope })
}

export function gelu(layer: { readonly approximate?: 'none' | 'tanh' }, to: LayerWriter, x: ValueId): ValueId {
  const approximate = layer.approximate ?? 'none'
  if (approximate !== 'none' && approximate !== 'tanh') throw to.invalid('approximate', approximate, 'use none or tanh')
  return to.simple('gelu', x, to.shape(x), { approximate: approximate === 'tanh' ? 1 : 0 })
}

/** `stream` gives each dropout of the model random numbers of its own. */
export function dropout(layer: { readonly rate: number }, to: LayerWriter, x: ValueId, stream: () => number): ValueId {
  const rate = to.number('rate', layer.rate, 'from 0 to less than 1', (value) => value >= 0 && value < 1)
  if (rate === 0 || !to.learns) return x
  return to.simple('dropout', x, to.shape(x), { rate, stream: stream() })
}
