import type { ValueId } from '../graph.js'
import { shownShape } from '../layer-checks.js'
import type { ConcatLayer, Layer, MultiplyLayer, ResidualLayer } from '../model.js'
import type { LayerWriter } from './layer-writer.js'

/** What layers whose names begin with `prefix` make of `x`. */
export type Sequence = (layers: readonly Layer[], x: ValueId, prefix: string) => ValueId

export function residual(layer: ResidualLayer, to: LayerWriter, x: ValueId, sequence: Sequence): ValueId {
  const [body, shortcut] = bodyAndShortcut(layer, to, x, sequence)
  const shape = to.shape(body)
  const ends = to.truth('relu', layer.relu ?? true)
  const suffix = ends ? 'add' : ''
  const sum = to.value(shape, suffix)
  to.operator('add', [body, shortcut], [sum], { attributes: { relu: 0 }, suffix })
  return ends ? to.simple('relu', sum, shape) : sum
}

export function multiply(layer: MultiplyLayer, to: LayerWriter, x: ValueId, sequence: Sequence): ValueId {
  const factors = bodyAndShortcut(layer, to, x, sequence)
  const y = to.value(to.shape(factors[0]))
  to.operator('multiply', factors, [y])
  return y
}

export function concat({ branches }: ConcatLayer, to: LayerWriter, x: ValueId, sequence: Sequence): ValueId {
  if (branches.length === 0) throw to.invalid('branches', branches, 'give it at least one list of layers')
  const parts = branches.map((branch, i) => sequence(branch, x, `${to.name}.${i}.`))
  const shapes = parts.map((part) => to.shape(part))
  const [first] = shapes as [readonly number[]]
  const alike = (shape: readonly number[]): boolean =>
    shape.length === first.length && shape.every((extent, axis) => axis === 1 || extent === first[axis])
  const other = shapes.find((shape) => !alike(shape))
  if (other || (first.length !== 2 && first.length !== 4))
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

/** What a layer's body and its shortcut make of x, in one shape. */
function bodyAndShortcut(layer: ResidualLayer | MultiplyLayer, to: LayerWriter, x: ValueId, sequence: Sequence): [ValueId, ValueId] {
  if (layer.body.length === 0) throw to.invalid('body', layer.body, 'give it at least one layer')
  const { shortcutName = 'shortcut' } = layer
  if (typeof shortcutName !== 'string' || !/^\S+$/.test(shortcutName))
    throw to.invalid('shortcutName', shortcutName, 'use at least one character and no space')
  const body = sequence(layer.body, x, `${to.name}.`)
  const shortcut = sequence(layer.shortcut ?? [], x, `${to.name}.${shortcutName}.`)
  const [ours, theirs] = [to.shape(body), to.shape(shortcut)]
  if (ours.length !== theirs.length || ours.some((extent, axis) => extent !== theirs[axis]))
    throw to.mismatch(
      x,
      `its body gives (${ours.slice(1).join(', ')}) and its shortcut (${theirs.slice(1).join(', ')}): change one to match the other`
    )
  return [body, shortcut]
}
