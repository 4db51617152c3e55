import { sameShape, type NoAttributes, type ValueId } from '../graph.js'
import { shownShape } from '../layer-checks.js'
import type { Layer, LayerOptions, Named } from '../layer.js'
import { defineLayers, optionsOf } from './layer-table.js'
import type { LayerWriter } from './layer-writer.js'
import { one } from './onnx.js'
import { defineComposable, defineOperators, perElement } from './table.js'

/** Layers that lead one input along several sequences of layers and join their outputs, and the operators that join. */

declare module '../graph.js' {
  interface ComposableOperators {
    /** a, b -> y */
    add: { readonly relu: number }
    /** a, b (same shape) -> y */
    multiply: NoAttributes
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

/** body(x) * shortcut(x), element by element; an empty shortcut is the identity. */
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

/** body(x) * shortcut(x), element by element; without a shortcut x itself is the other factor, as in x * sigmoid(conv(x)). */
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
      return to.result('multiply', body, to.shape(body), {}, [shortcut])
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
      const alike = (shape: readonly number[]): boolean =>
        shape.length === first.length && shape.every((extent, axis) => axis === 1 || extent === first[axis])
      if (!shapes.every(alike) || (first.length !== 2 && first.length !== 4))
        throw to.mismatch(
          x,
          `its branches give ${shapes.map((shape) => shownShape(shape.slice(1))).join(', ')}: only channels of images (C, H, W) or features (F) may differ`
        )
      const channels = shapes.map((shape) => shape[1]!)
      const together = channels.reduce((sum, each) => sum + each, 0)
      const y = to.value(first.with(1, together))
      to.operator('concat', parts, [y], { attributes: { channels } })
      return y
    }
  }
})

/** The outputs of a layer's body and of its shortcut for input x, in one shape. */
function bodyAndShortcut(layer: TwoBranches, to: LayerWriter, x: ValueId): [ValueId, ValueId] {
  if (layer.body.length === 0) throw to.invalid('body', layer.body, 'give it at least one layer')
  const { bodyName, shortcutName = 'shortcut' } = layer
  for (const [parameter, name] of Object.entries({ bodyName, shortcutName }))
    if (name !== undefined && (typeof name !== 'string' || !/^\S+$/.test(name)))
      throw to.invalid(parameter, name, 'use at least one character and no space')
  const body = to.context.sequence(layer.body, x, bodyName === undefined ? `${to.name}.` : `${to.prefix}${bodyName}.`)
  const shortcut = to.context.sequence(layer.shortcut ?? [], x, `${to.name}.${shortcutName}.`)
  const [ofBody, ofShortcut] = [to.shape(body), to.shape(shortcut)]
  if (sameShape(ofBody, ofShortcut)) return [body, shortcut]
  throw to.mismatch(
    x,
    `its body gives ${shownShape(ofBody.slice(1))} and its shortcut ${shownShape(ofShortcut.slice(1))}: change one to match the other`
  )
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
    onnx: (operator) => one('Concat', operator, { axis: 1 })
  }
})

defineOperators({ concatBackward: {} })
