import { NONE } from '../graph.js'
import type { Initialised } from '../initialisers.js'
import { pairOf } from '../layer-checks.js'
import type { LayerOptions, Named, Pair } from '../layer.js'
import { withBias } from './channel-affine.js'
import { defineLayers, optionsOf } from './layer-table.js'
import { weightAndBias } from './weights.js'

declare module '../layer.js' {
  interface Layers {
    convTranspose2d: ConvTranspose2dLayer
  }
}

/** A transposed 2-D convolution of (C, H, W). */
export interface ConvTranspose2dLayer extends Named, Initialised {
  readonly kind: 'convTranspose2d'
  readonly filters: number
  readonly kernel: Pair
  /** How many times as high and wide the image becomes, but for its edge; 1 if left out. */
  readonly stride?: Pair
  /** Pixels that are cut off at each edge; 0 if left out. */
  readonly padding?: Pair
  /** Pixels that are added at the lower and right edge; less than the stride, 0 if left out. */
  readonly outputPadding?: Pair
  /** Pixels from one weight's to the next's; 1 if left out. */
  readonly dilation?: Pair
  readonly groups?: number
  readonly bias?: boolean
}

/**
 * What a 2-D convolution does backwards: (C, H, W) to (filters, H', W'), where H' is (H - 1) * stride - 2 * padding + dilation * (kernel - 1) + outputPadding + 1, as PyTorch's
 * `ConvTranspose2d` has it. `convTranspose2d(32, 2, { stride: 2 })` makes an image of twice the height and width.
 */
export function convTranspose2d(
  filters: number,
  kernel: Pair,
  options: LayerOptions<ConvTranspose2dLayer, 'filters' | 'kernel'> = {}
): ConvTranspose2dLayer {
  return { kind: 'convTranspose2d', filters, kernel, ...optionsOf('convTranspose2d', options) }
}

defineLayers({
  convTranspose2d: {
    stem: 'convTranspose',
    properties: {
      filters: true,
      kernel: true,
      stride: true,
      padding: true,
      outputPadding: true,
      dilation: true,
      groups: true,
      bias: true,
      initialiser: true,
      biasInitialiser: true
    },
    build(layer, to, x) {
      const [batch, channels, ...extents] = to.image(x, 'put it before flatten and pooling to (C)')
      const filters = to.wholeNumber('filters', layer.filters, 1)
      const groups = to.wholeNumber('groups', layer.groups ?? 1, 1)
      if (filters % groups) throw to.invalid('groups', groups, `use a divisor of its ${filters} filters`)
      if (channels % groups) throw to.mismatch(x, `its ${groups} groups must divide the channels: change groups`)
      const kernel = pairOf(to.name, 'kernel', layer.kernel, 1)
      const stride = pairOf(to.name, 'stride', layer.stride ?? 1, 1)
      const padding = pairOf(to.name, 'padding', layer.padding ?? 0, 0)
      const added = pairOf(to.name, 'outputPadding', layer.outputPadding ?? 0, 0)
      const dilation = pairOf(to.name, 'dilation', layer.dilation ?? 1, 1)
      // Else the convolution that it is the gradient of would give another image than x.
      if (added[0] >= stride[0] || added[1] >= stride[1]) throw to.invalid('outputPadding', layer.outputPadding, 'use less than the stride')
      const larger = extents.map((extent, axis) => {
        const at = axis as 0 | 1
        return (extent - 1) * stride[at] - 2 * padding[at] + dilation[at] * (kernel[at] - 1) + added[at] + 1
      })
      if (larger.some((extent) => extent < 1)) throw to.mismatch(x, 'its padding cuts the whole image off: use less padding')
      const [weight, bias] = weightAndBias(layer, to, [channels, filters / groups, ...kernel], filters)
      const y = to.result(
        'conv2dBackwardData',
        x,
        [batch, filters, ...larger],
        { stride, padding, ...(Math.max(...dilation) > 1 && { dilation }), groups, relu: 0 },
        [weight]
      )
      return bias === NONE ? y : withBias(to, y, bias)
    }
  }
})
