import { elements, NONE, type NoAttributes } from '../graph.js'
import { initialiserOf, type WeightInitialiser } from '../initialisers.js'
import type { LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
import { FLOAT, lengthsOf, type Padded } from './lengths.js'
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
    /** x (N,T,F), lengths (N)? -> y (N,F); with lengths the position counts backwards from the last of each, which is -1, and one that is not there gives zeros */
    takePosition: { readonly position: number }
    /** gy, lengths? -> gx: zero elsewhere */
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
    imageOfPositions: ImageOfPositionsLayer
    classToken: ClassTokenLayer
    takePosition: TakePositionLayer
  }
}

/** (C, H, W) to a sequence (H * W, C). */
export interface ImagePositionsLayer extends Named {
  readonly kind: 'imagePositions'
}

/** A sequence (height * width, C) to (C, height, width). */
export interface ImageOfPositionsLayer extends Named {
  readonly kind: 'imageOfPositions'
  readonly height: number
  readonly width: number
}

/** (T, F) to (1 + T, F): a trained token before the sequence. */
export interface ClassTokenLayer extends Named {
  readonly kind: 'classToken'
  readonly initialiser?: WeightInitialiser
  /** The full name of its parameter, of shape (1, 1, F); the layer's name and `.weight` if left out. */
  readonly parameter?: string
}

/** The features of one position: (T, F) to (F). */
export interface TakePositionLayer extends Named, Padded {
  readonly kind: 'takePosition'
  /** Counted from 0, or backwards from -1, the last one. */
  readonly position: number
}

/** Each pixel of (C, H, W) becomes a position of a sequence (H * W, C), row by row: put it behind a convolution that makes patches. */
export function imagePositions(options: Named = {}): ImagePositionsLayer {
  return { kind: 'imagePositions', ...optionsOf('imagePositions', options) }
}

/** What `imagePositions` does, backwards: the positions of a sequence (height * width, C) become the pixels of an image (C, height, width), row by row. */
export function imageOfPositions(
  height: number,
  width: number,
  options: LayerOptions<ImageOfPositionsLayer, 'height' | 'width'> = {}
): ImageOfPositionsLayer {
  return { kind: 'imageOfPositions', height, width, ...optionsOf('imageOfPositions', options) }
}

/** A trained token before the sequence, normal with std 0.02 at first, for what the whole sequence says (Devlin et al., 2018): (T, F) to (1 + T, F). */
export function classToken(options: LayerOptions<ClassTokenLayer> = {}): ClassTokenLayer {
  return { kind: 'classToken', ...optionsOf('classToken', options) }
}

/**
 * The features of one position of a sequence, counted from 0, or backwards from -1, the last one: (T, F) to (F). With `padding` the last one of each text; a
 * text that has no such position gives zeros.
 */
export function takePosition(position: number, options: LayerOptions<TakePositionLayer, 'position'> = {}): TakePositionLayer {
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
  imageOfPositions: {
    stem: 'image',
    properties: { height: true, width: true },
    build(layer, to, x) {
      const [batch, length, channels] = to.sequence(x)
      const [height, width] = [to.wholeNumber('height', layer.height, 1), to.wholeNumber('width', layer.width, 1)]
      if (height * width !== length) throw to.mismatch(x, `its image of ${height} x ${width} pixels needs ${height * width} positions`)
      return to.result('imagePositionsBackward', x, [batch, channels, height, width])
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
    properties: { position: true, padding: true },
    build(layer, to, x) {
      const [batch, length, features] = to.sequence(x)
      const given = to.number('position', layer.position, 'without a fraction', Number.isInteger)
      const position = given < 0 ? length + given : given
      if (position < 0 || position >= length)
        throw to.invalid('position', given, `use one of its ${length} positions, counted from 0, or from -1 backwards`)
      if (layer.padding !== undefined) {
        if (given >= 0)
          throw to.invalid('padding', layer.padding, 'leave it out: a position that is counted from 0 is the same one in every text')
        return to.result('takePosition', x, [batch, features], { position: given }, [lengthsOf(to, x, layer.padding)])
      }
      return to.result('takePosition', x, [batch, features], { position })
    }
  }
})

defineComposable({
  imagePositions: { gradient: backwardBy('imagePositionsBackward'), onnx: imagePositionsNodes },
  // Forwards it makes an image of a sequence.
  imagePositionsBackward: { gradient: backwardBy('imagePositions'), onnx: imageOfPositionsNodes },
  classToken: {
    gradient(pass) {
      pass.emit('classTokenBackward', [pass.gradient()], [pass.optionalContribution(0), pass.optionalContribution(1)])
    },
    onnx: classTokenNodes
  },
  takePosition: {
    gradient(pass) {
      const lengths = pass.inputs[1] ?? NONE
      pass.emit('takePositionBackward', [pass.gradient(), ...(lengths === NONE ? [] : [lengths])], [pass.contribution(0)], pass.attributes)
    },
    onnx: (operator) => (operator.inputs.length > 1 ? takeLastNodes(operator) : takePositionNodes(operator))
  },
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

function imageOfPositionsNodes({ name, inputs: [x], output, result }: OnnxOperator<unknown>): OnnxNodes {
  const part = (suffix: string): string => `${output} ${suffix}`
  return {
    nodes: [
      node('Transpose', `${name} transpose`, [x!], part('pixels'), { perm: [0, 2, 1] }),
      node('Reshape', name, [part('pixels'), part('shape')], output)
    ],
    constants: { [part('shape')]: [-1, ...result.slice(1)] }
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

/** Counted backwards from the end of each sequence: a product with 1 at its place and 0 at the others. */
function takeLastNodes({
  name,
  inputs: [x, lengths],
  output,
  shapes,
  result,
  attributes: { position }
}: OnnxOperator<{ readonly position: number }>): OnnxNodes {
  const positions = shapes[0]![1]!
  const part = (suffix: string): string => `${output} ${suffix}`
  const step = (opType: string, of: readonly string[], to: string, attributes = {}) =>
    node(opType, `${name} ${to}`, of, part(to), attributes)
  return {
    nodes: [
      step('Add', [lengths!, part('position')], 'place'),
      step('Reshape', [part('place'), part('by sequence')], 'place by sequence'),
      step('Equal', [part('places'), part('place by sequence')], 'is there'),
      step('Cast', [part('is there')], 'share', { to: FLOAT }),
      step('MatMul', [part('share'), x!], 'taken'),
      node('Reshape', name, [part('taken'), part('features')], output)
    ],
    constants: { [part('by sequence')]: [-1, 1, 1], [part('features')]: [-1, result[1]!] },
    scalars: { [part('position')]: position },
    tables: { [part('places')]: { shape: [positions], data: Float32Array.from({ length: positions }, (_, i) => i) } }
  }
}
