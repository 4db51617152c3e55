import { elements, type NoAttributes } from '../graph.js'
import { initialiserOf, type WeightInitialiser } from '../initialisers.js'
import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
import { node, type OnnxNodes, type OnnxOperator } from './onnx.js'
import { backwardBy, defineComposable, defineOperators, perElement } from './table.js'

/** From images to sequences, and from a sequence to the features of one position: what a vision transformer has around its blocks. */

declare module '../graph.js' {
  interface ComposableOperators {
    /** x (N,C,H,W) -> y (N,H*W,C): each pixel becomes a position, row by row */
    imagePositions: NoAttributes
    /** gy -> gx */
    imagePositionsBackward: NoAttributes
    /** x (N,T,F), token (1,1,F) -> y (N,1+T,F): the token before each sequence */
    classToken: NoAttributes
    /** x (N,T,F) -> y (N,F) */
    takePosition: { readonly position: number }
    /** gy -> gx: zero elsewhere */
    takePositionBackward: { readonly position: number }
  }
  interface Operators {
    /** gy -> gx?, gtoken? */
    classTokenBackward: NoAttributes
  }
}

declare module '../layer.js' {
  interface Layers {
    imagePositions: ImagePositionsLayer
    classToken: ClassTokenLayer
    takePosition: TakePositionLayer
  }
}

/** (C, H, W) to a sequence (H * W, C). */
export interface ImagePositionsLayer extends Named {
  readonly kind: 'imagePositions'
}

/** (T, F) to (1 + T, F): a trained token before the sequence. */
export interface ClassTokenLayer extends Named {
  readonly kind: 'classToken'
  readonly initialiser?: WeightInitialiser
  /** The full name of its parameter, of shape (1, 1, F); the layer's name and `.weight` if left out. */
  readonly parameter?: string
}

/** The features of one position: (T, F) to (F). */
export interface TakePositionLayer extends Named {
  readonly kind: 'takePosition'
  /** Counted from 0, or backwards from -1, the last one. */
  readonly position: number
}

/** Each pixel of (C, H, W) becomes a position of a sequence (H * W, C), row by row: put it behind a convolution that makes patches. */
export function imagePositions(options: Named = {}): ImagePositionsLayer {
  return { kind: 'imagePositions', ...optionsOf('imagePositions', options) }
}

/** A trained token before the sequence, normal with std 0.02 at first, for what the whole sequence says (Devlin et al., 2018): (T, F) to (1 + T, F). */
export function classToken(options: LayerOptions<ClassTokenLayer> = {}): ClassTokenLayer {
  return { kind: 'classToken', ...optionsOf('classToken', options) }
}

/** The features of one position of a sequence, counted from 0, or backwards from -1, the last one: (T, F) to (F). */
export function takePosition(position: number, options: Named = {}): TakePositionLayer {
  return { kind: 'takePosition', position, ...optionsOf('takePosition', options) }
}

defineLayers({
  imagePositions: {
    stem: 'sequence',
    properties: {},
    build(_, to, x) {
      const [batch, channels, height, width] = to.image(x, 'put it behind convolutions')
      return to.result('imagePositions', x, [batch, height * width, channels])
    }
  },
  classToken: {
    stem: 'classToken',
    properties: { initialiser: true, parameter: true },
    build({ initialiser = { kind: 'normal', std: 0.02 }, parameter }, to, x) {
      const [batch, length, features] = to.sequence(x)
      const token = to.table(parameter, [1, 1, features], initialiserOf(to.name, 'initialiser', initialiser, null))
      return to.result('classToken', x, [batch, 1 + length, features], {}, [token])
    }
  },
  takePosition: {
    stem: 'position',
    properties: { position: true },
    build(layer, to, x) {
      const [batch, length, features] = to.sequence(x)
      const given = to.number('position', layer.position, 'without a fraction', Number.isInteger)
      const position = given < 0 ? length + given : given
      if (position < 0 || position >= length)
        throw to.invalid('position', given, `use one of its ${length} positions, counted from 0, or from -1 backwards`)
      return to.result('takePosition', x, [batch, features], { position })
    }
  }
})

defineComposable({
  imagePositions: { gradient: backwardBy('imagePositionsBackward'), onnx: imagePositionsNodes },
  imagePositionsBackward: {},
  classToken: {
    gradient(pass) {
      pass.emit('classTokenBackward', [pass.gradient()], [pass.optionalContribution(0), pass.optionalContribution(1)])
    },
    onnx: classTokenNodes
  },
  takePosition: { gradient: backwardBy('takePositionBackward'), onnx: takePositionNodes },
  takePositionBackward: {}
})

defineOperators({ classTokenBackward: { flops: perElement(1) } })

function imagePositionsNodes({ name, inputs: [x], output, shapes }: OnnxOperator<unknown>): OnnxNodes {
  const [, channels, ...extent] = shapes[0] as [number, number, number, number]
  const part = (suffix: string): string => `${output} ${suffix}`
  return {
    nodes: [
      node('Reshape', `${name} reshape`, [x!, part('shape')], part('pixels')),
      node('Transpose', name, [part('pixels')], output, { perm: [0, 2, 1] })
    ],
    constants: { [part('shape')]: [-1, channels, elements(extent)] }
  }
}

/** Both sides are padded with zeros to (1 + T, F) and added: so the token needs no repetition for a batch of unknown size. */
function classTokenNodes({ name, inputs: [x, token], output, shapes }: OnnxOperator<unknown>): OnnxNodes {
  const [, length] = shapes[0] as [number, number, number]
  const part = (suffix: string): string => `${output} ${suffix}`
  return {
    nodes: [
      node('Pad', `${name} sequence`, [x!, part('before')], part('sequence')),
      node('Pad', `${name} token`, [token!, part('after')], part('token')),
      node('Add', name, [part('sequence'), part('token')], output)
    ],
    constants: { [part('before')]: [0, 1, 0, 0, 0, 0], [part('after')]: [0, 0, 0, 0, length, 0] }
  }
}

function takePositionNodes({
  name,
  inputs: [x],
  output,
  attributes: { position }
}: OnnxOperator<{ readonly position: number }>): OnnxNodes {
  const part = (suffix: string): string => `${output} ${suffix}`
  return {
    nodes: [
      node('Gather', `${name} gather`, [x!, part('position')], part('taken'), { axis: 1 }),
      node('Flatten', name, [part('taken')], output)
    ],
    constants: { [part('position')]: [position] }
  }
}
