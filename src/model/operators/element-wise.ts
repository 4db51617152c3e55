import type { ValueId } from '../graph.js'
import type { LayerWriter } from './layer-writer.js'

export function leakyRelu(layer: { readonly slope?: number }, to: LayerWriter, x: ValueId): ValueId {
  const slope = layer.slope ?? 0.01
  if (!(slope >= 0 && slope < 2 ** 31)) throw to.invalid('slope', slope, 'use a number of at least 0')
  return to.simple('leakyRelu', x, to.shape(x), { slope })
}

export function gelu(layer: { readonly approximate?: 'none' | 'tanh' }, to: LayerWriter, x: ValueId): ValueId {
  const approximate = layer.approximate ?? 'none'
  if (approximate !== 'none' && approximate !== 'tanh') throw to.invalid('approximate', approximate, 'use none or tanh')
  return to.simple('gelu', x, to.shape(x), { approximate: approximate === 'tanh' ? 1 : 0 })
}

/** `stream` gives each dropout of the model random numbers of its own. */
export function dropout({ rate }: { readonly rate: number }, to: LayerWriter, x: ValueId, stream: () => number): ValueId {
  if (!(rate >= 0 && rate < 1)) throw to.invalid('rate', rate, 'use a number from 0 to less than 1')
  if (rate === 0 || !to.learns) return x
  return to.simple('dropout', x, to.shape(x), { rate, stream: stream() })
}
