import type { NoAttributes } from '../graph.js'
import { initialiserOf, type WeightInitialiser } from '../initialisers.js'
import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
import { node, one } from './onnx.js'
import { defineComposable, perElement, sizeOf } from './table.js'

/** Trained tables: of a row for each token, and of an element for each position. */

declare module '../graph.js' {
  interface ComposableOperators {
    /** tokens (N,T), table (V,F) -> y (N,T,F): the table's rows */
    embedding: NoAttributes
    /** tokens, gy -> gtable */
    embeddingBackward: NoAttributes
    /** x (N,...), table (...) or (1,...) -> y = x + table, for every sample */
    positions: NoAttributes
    /** gy -> gtable: the sum over the samples */
    positionsBackward: NoAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    embedding: EmbeddingLayer
    positions: PositionsLayer
  }
}

/** Token ids (T) to features (T, F). */
export interface EmbeddingLayer extends Named {
  readonly kind: 'embedding'
  /** How many tokens there are. */
  readonly tokens: number
  readonly features: number
  readonly initialiser?: WeightInitialiser
}

/** A trained number for every element of a sample. */
export interface PositionsLayer extends Named {
  readonly kind: 'positions'
  readonly initialiser?: WeightInitialiser
  /**
   * The full name of its parameter, which then has an axis for the samples too: `pos_embed` of shape (1, T, F). The layer's name and `.weight`,
   * of shape (T, F), if left out.
   */
  readonly parameter?: string
}

/**
 * Rows of a trained table by token: (T) token ids, each below `tokens`, to (T, features); normal with std 1 at first. The model's first
 * layer.
 */
export function embedding(
  tokens: number,
  features: number,
  options: LayerOptions<EmbeddingLayer, 'tokens' | 'features'> = {}
): EmbeddingLayer {
  return { kind: 'embedding', tokens, features, ...optionsOf('embedding', options) }
}

/** Adds a trained number, normal with std 0.02 at first, to every element of a sample: it tells positions of (T, F) apart. */
export function positions(options: LayerOptions<PositionsLayer> = {}): PositionsLayer {
  return { kind: 'positions', ...optionsOf('positions', options) }
}

defineLayers({
  embedding: {
    stem: 'embedding',
    properties: { tokens: true, features: true, initialiser: true },
    build(layer, to, x) {
      const { shape, type } = to.get(x)
      if (type !== 'integer' || shape.length !== 2) throw to.mismatch(x, 'it takes token ids (T): make it the first layer')
      const tokens = to.wholeNumber('tokens', layer.tokens, 1)
      const features = to.wholeNumber('features', layer.features, 1)
      const initialiser = initialiserOf(to.name, 'initialiser', layer.initialiser ?? { kind: 'normal', std: 1 }, null)
      const table = to.parameter('weight', [tokens, features], initialiser)
      return to.result('embedding', x, [...shape, features], {}, [table])
    }
  },
  positions: {
    stem: 'positions',
    properties: { initialiser: true, parameter: true },
    build({ initialiser = { kind: 'normal', std: 0.02 }, parameter }, to, x) {
      const shape = to.shape(x)
      const sample = shape.slice(1)
      const extents = parameter === undefined ? sample : [1, ...sample]
      const table = to.table(parameter, extents, initialiserOf(to.name, 'initialiser', initialiser, null))
      return to.result('positions', x, shape, {}, [table])
    }
  }
})

defineComposable({
  embedding: {
    gradient: (pass) => pass.emit('embeddingBackward', [pass.inputs[0]!, pass.gradient()], [pass.contribution(1)]),
    onnx: ({ name, inputs: [tokens, table], output }) => ({ nodes: [node('Gather', name, [table!, tokens!], output)] })
  },
  embeddingBackward: { flops: ({ inputs: [, gy] }) => sizeOf(gy) },
  positions: {
    gradient(pass) {
      const gradient = pass.gradient()
      if (pass.wants(0)) pass.passOn(0, gradient)
      pass.emit('positionsBackward', [gradient], [pass.contribution(1)])
    },
    flops: perElement(1),
    onnx: (operator) => one('Add', operator)
  },
  positionsBackward: { flops: perElement(1) }
})
