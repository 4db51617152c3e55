import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf, type LayerRow } from './layer-table.js'
import { backwardBy, defineOperators, perElement } from './table.js'

type DropoutAttributes = { readonly rate: number; readonly stream: number }

declare module '../graph.js' {
  interface Operators {
    /** x -> y = x * mask / (1 - rate); the mask is computed again from its counter */
    dropout: DropoutAttributes
    /** gy -> gx */
    dropoutBackward: DropoutAttributes
    /** x -> y: each sample times its mask / (1 - rate); also gy -> gx */
    stochasticDepth: DropoutAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    dropout: DropoutLayer
    stochasticDepth: DropoutLayer<'stochasticDepth'>
  }
}

/** Zeroes features, or whole samples. */
export interface DropoutLayer<Kind extends string = 'dropout'> extends Named {
  readonly kind: Kind
  /** From 0 to less than 1. */
  readonly rate: number
}

/** Zeroes a share `rate` of the features and scales the others by 1/(1 - rate), in training only. */
export function dropout(rate: number, options: LayerOptions<DropoutLayer, 'rate'> = {}): DropoutLayer {
  return { kind: 'dropout', rate, ...optionsOf('dropout', options) }
}

/**
 * Zeroes a share `rate` of a batch's samples and scales the others by 1/(1 - rate), in training only. As the last layer of a residual body it leaves
 * the block out for those samples (Huang et al., "Deep networks with stochastic depth", ECCV 2016).
 */
export function stochasticDepth(
  rate: number,
  options: LayerOptions<DropoutLayer<'stochasticDepth'>, 'rate'> = {}
): DropoutLayer<'stochasticDepth'> {
  return { kind: 'stochasticDepth', rate, ...optionsOf('stochasticDepth', options) }
}

function dropping<Kind extends 'dropout' | 'stochasticDepth'>(kind: Kind): LayerRow<DropoutLayer<Kind>> {
  return {
    stem: kind,
    properties: { rate: true },
    build(layer, to, x) {
      return to.dropped(kind, x, to.fraction('rate', layer.rate))
    }
  }
}

defineLayers({ dropout: dropping('dropout'), stochasticDepth: dropping('stochasticDepth') })

defineOperators({
  dropout: { gradient: backwardBy('dropoutBackward'), flops: perElement(1) },
  dropoutBackward: { flops: perElement(1) },
  stochasticDepth: { gradient: backwardBy('stochasticDepth'), flops: perElement(1) }
})
