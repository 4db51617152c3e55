import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
import { backwardBy, defineOperators, perElement } from './table.js'

type DropoutAttributes = { readonly rate: number; readonly stream: number }

declare module '../graph.js' {
  interface Operators {
    /** x -> y = x * mask / (1 - rate); the mask is computed again from its counter */
    dropout: DropoutAttributes
    /** gy -> gx */
    dropoutBackward: DropoutAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    dropout: DropoutLayer
  }
}

export interface DropoutLayer extends Named {
  readonly kind: 'dropout'
  readonly rate: number
}

/** Zeroes a share `rate` of the features and scales the others by 1/(1 - rate), in training only. */
export function dropout(rate: number, options: LayerOptions<DropoutLayer, 'rate'> = {}): DropoutLayer {
  return { kind: 'dropout', rate, ...optionsOf('dropout', options) }
}

defineLayers({
  dropout: {
    stem: 'dropout',
    properties: { rate: true },
    build(layer, to, x) {
      const rate = to.number('rate', layer.rate, 'from 0 to less than 1', (value) => value >= 0 && value < 1)
      if (rate === 0 || !to.learns) return x
      return to.result('dropout', x, to.shape(x), { rate, stream: to.context.dropouts++ })
    }
  }
})

defineOperators({
  dropout: { gradient: backwardBy('dropoutBackward'), flops: perElement(1) },
  dropoutBackward: { flops: perElement(1) }
})
