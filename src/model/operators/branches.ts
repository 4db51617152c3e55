import type { ArbalestError } from '../../errors.js'
import { sameShape, type NoAttributes, type ValueId } from '../graph.js'
import { shownShape } from '../layer-checks.js'
import type { Layer, LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
import type { LayerWriter } from './layer-writer.js'
import { node, one } from './onnx.js'
import { defineComposable, defineOperators, perElement } from './table.js'

/** Layers that lead one input along several sequences of layers and join their outputs, and the operators that join. */

declare module '../graph.js' {
  interface ComposableOperators {
    /** a, b -> y */
    add: { readonly relu: number }
    /** a, b (same shape) -> y */
    multiply: NoAttributes
    /** x (N,C,H,W), factors (N,C) -> y = x, each channel times its factor */
    scaleChannels: NoAttributes
    /** x, factors, gy -> gx?, gfactors? */
    scaleChannelsBackward: NoAttributes
    /** x, x, ... -> y: their channels (axis 1) side by side; `channels`: of each */
    concat: { readonly channels: readonly number[] }
  }
  interface Operators {
    /** gy -> gx?, gx?, ... */
    concatBackward: { readonly channels: readonly number[] }
  }
}

declare module '../layer.js' {
  interface Layers {
    residual: ResidualLayer
    multiply: MultiplyLayer
    concat: ConcatLayer
  }
}

/** body(x) and shortcut(x), of which a layer makes one output; an empty shortcut is the identity. */
interface TwoBranches extends Named {
  readonly body: readonly Layer[]
  readonly shortcut?: readonly Layer[]
  /** What the names of the body's layers begin with, in place of the block's own name. */
  readonly bodyName?: string
  /** What the names of the shortcut's layers begin with, after the block's own; `shortcut` if left out. */
  readonly shortcutName?: string
}

/** body(x) + shortcut(x), then max(0, .) unless `relu` is false; an empty shortcut is the identity. */
export interface ResidualLayer extends TwoBranches {
  readonly kind: 'residual'
  readonly relu?: boolean
}

/** body(x) * shortcut(x); an empty shortcut is the identity. */
export interface MultiplyLayer extends TwoBranches {
  readonly kind: 'multiply'
}

/** The channels of all branches side by side; an empty branch is the identity. */
export interface ConcatLayer extends Named {
  readonly kind: 'concat'
  readonly branches: readonly (readonly Layer[])[]
  /** What the names of the branches' layers begin with, in place of the block's own name and the branch's number; empty for nothing. */
  readonly branchName?: string
}

/** body(x) + shortcut(x), then max(0, .) unless `relu` is false; without a shortcut x itself is added. */
export function residual(layer: LayerOptions<ResidualLayer>): ResidualLayer {
  return { kind: 'residual', ...optionsOf('residual', layer) }
}

/**
 * body(x) * shortcut(x), element by element; without a shortcut x itself is the other factor, as in x * sigmoid(conv(x)). Where one of them is an image
 * (C, H, W) and the other has one number a channel, (C) or (C, 1, 1), each channel is multiplied by its number, as in squeeze-and-excitation (Hu et al.,
 * CVPR 2018): `multiply({ body: [globalAvgPool(), linear(8), relu(), linear(32), sigmoid()] })` for 32 channels.
 */
export function multiply(layer: LayerOptions<MultiplyLayer>): MultiplyLayer {
  return { kind: 'multiply', ...optionsOf('multiply', layer) }
}

/** The channels (or features) of all branches side by side; an empty branch is the input itself. */
export function concat(branches: readonly (readonly Layer[])[], options: LayerOptions<ConcatLayer, 'branches'> = {}): ConcatLayer {
  return { kind: 'concat', branches, ...optionsOf('concat', options) }
}

defineLayers({
  residual: {
    stem: 'block',
    properties: { body: true, shortcut: true, bodyName: true, shortcutName: true, relu: true },
    inner: { body: 'list', shortcut: 'optional' },
    build(layer, to, x) {
      const [body, shortcut] = bodyAndShortcut(layer, to, x)
      const shape = to.shape(body)
      if (!sameShape(shape, to.shape(shortcut))) throw unlike(to, x, body, shortcut)
      const ends = to.truth('relu', layer.relu ?? true)
      const suffix = ends ? 'add' : ''
      const sum = to.value(shape, suffix)
      to.operator('add', [body, shortcut], [sum], { attributes: { relu: 0 }, suffix })
      return ends ? to.result('relu', sum, shape) : sum
    }
  },
  multiply: {
    stem: 'multiply',
    properties: { body: true, shortcut: true, bodyName: true, shortcutName: true },
    inner: { body: 'list', shortcut: 'optional' },
    build(layer, to, x) {
      const [body, shortcut] = bodyAndShortcut(layer, to, x)
      const shape = to.shape(body)
      if (sameShape(shape, to.shape(shortcut))) return to.result('multiply', body, shape, {}, [shortcut])
      if (isNumberAChannel(to.shape(shortcut), shape)) return scaled(to, body, shortcut)
      if (isNumberAChannel(shape, to.shape(shortcut))) return scaled(to, shortcut, body)
      throw unlike(to, x, body, shortcut)
    }
  },
  concat: {
    stem: 'concat',
    properties: { branches: true, branchName: true },
    inner: { branches: 'lists' },
    build({ branches, branchName }, to, x) {
      if (branches.length === 0) throw to.invalid('branches', branches, 'give it at least one list of layers')
      if (branchName !== undefined && (typeof branchName !== 'string' || /\s/.test(branchName)))
        throw to.invalid('branchName', branchName, 'use characters other than spaces')
      const shared = branchName ? `${to.prefix}${branchName}.` : to.prefix
      const parts = branches.map((branch, i) => to.context.sequence(branch, x, branchName === undefined ? `${to.name}.${i}.` : shared))
      const shapes = parts.map((part) => to.shape(part))
      const [first] = shapes as [readonly number[]]
      const axis = channelAxis(first)
      const alike = (shape: readonly number[]): boolean =>
        shape.length === first.length && shape.every((extent, i) => i === axis || extent === first[i])
      if (!shapes.every(alike))
        throw to.mismatch(
          x,
          `its branches give ${shapes.map((shape) => shownShape(shape.slice(1))).join(', ')}: only channels of images (C, H, W) or features of (F) and (T, F) may differ`
        )
      const channels = shapes.map((shape) => shape[axis]!)
      const together = channels.reduce((sum, each) => sum + each, 0)
      const y = to.value(first.with(axis, together))
      to.operator('concat', parts, [y], { attributes: { channels } })
      return y
    }
  }
})

/** Of images (N, C, H, W) and features (N, F) the second axis, of sequences (N, T, F) the last. */
const channelAxis = (shape: readonly number[]): number => (shape.length === 3 ? 2 : 1)

/** The outputs of a layer's body and of its shortcut for input x. */
function bodyAndShortcut(layer: TwoBranches, to: LayerWriter, x: ValueId): [ValueId, ValueId] {
  if (layer.body.length === 0) throw to.invalid('body', layer.body, 'give it at least one layer')
  const { bodyName, shortcutName = 'shortcut' } = layer
  for (const [parameter, name] of Object.entries({ bodyName, shortcutName }))
    if (name !== undefined && (typeof name !== 'string' || !/^\S+$/.test(name)))
      throw to.invalid(parameter, name, 'use at least one character and no space')
  const body = to.context.sequence(layer.body, x, bodyName === undefined ? `${to.name}.` : `${to.prefix}${bodyName}.`)
  const shortcut = to.context.sequence(layer.shortcut ?? [], x, `${to.name}.${shortcutName}.`)
  return [body, shortcut]
}

function unlike(to: LayerWriter, x: ValueId, body: ValueId, shortcut: ValueId): ArbalestError {
  const [ofBody, ofShortcut] = [body, shortcut].map((value) => shownShape(to.shape(value).slice(1)))
  return to.mismatch(x, `its body gives ${ofBody} and its shortcut ${ofShortcut}: change one to match the other`)
}

/** Whether numbers (N, C) or (N, C, 1, 1) have one for each channel of images (N, C, H, W). */
function isNumberAChannel(numbers: readonly number[], image: readonly number[]): boolean {
  return image.length === 4 && [image.slice(0, 2), [...image.slice(0, 2), 1, 1]].some((shape) => sameShape(shape, numbers))
}

/** Each channel of an image times its number. */
function scaled(to: LayerWriter, image: ValueId, numbers: ValueId): ValueId {
  const shape = to.shape(image)
  let factors = numbers
  if (to.shape(numbers).length > 2) {
    factors = to.value(shape.slice(0, 2), 'factors')
    to.operator('reshape', [numbers], [factors], { suffix: 'factors' })
  }
  return to.result('scaleChannels', image, shape, {}, [factors])
}

defineComposable({
  add: {
    endsInRelu: true,
    gradient(pass) {
      const gradient = pass.maskedGradient()
      for (const i of [0, 1]) if (pass.wants(i)) pass.passOn(i, gradient)
    },
    flops: perElement(1),
    onnx: (operator) => one('Add', operator)
  },
  multiply: {
    // The gradient of a factor is the product of the other factor and gy.
    gradient(pass) {
      const gradient = pass.gradient()
      for (const [i, other] of pass.inputs.toReversed().entries())
        if (pass.wants(i)) pass.emit('multiply', [gradient, other], [pass.contribution(i)])
    },
    flops: perElement(1),
    onnx: (operator) => one('Mul', operator)
  },
  scaleChannels: {
    gradient(pass) {
      const [x, factors] = pass.inputs as readonly [ValueId, ValueId]
      pass.emit('scaleChannelsBackward', [x, factors, pass.gradient()], [pass.optionalContribution(0), pass.optionalContribution(1)])
    },
    flops: perElement(1),
    onnx({ name, inputs: [x, factors], output }) {
      const part = (suffix: string): string => `${output} ${suffix}`
      return {
        nodes: [
          node('Unsqueeze', `${name} unsqueeze`, [factors!, part('axes')], part('factors')),
          node('Mul', name, [x!, part('factors')], output)
        ],
        constants: { [part('axes')]: [2, 3] }
      }
    }
  },
  scaleChannelsBackward: { flops: perElement(3) },
  concat: {
    gradient(pass) {
      const gradient = pass.gradient()
      pass.emit(
        'concatBackward',
        [gradient],
        pass.inputs.map((_, i) => pass.optionalContribution(i)),
        pass.attributes
      )
    },
    onnx: (operator) => one('Concat', operator, { axis: channelAxis(operator.result) })
  }
})

defineOperators({ concatBackward: {} })
