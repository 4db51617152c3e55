import { ArbalestError, shown } from '../errors.js'
import { layerKinds } from './layer-names.js'
import type { Model } from './model.js'

/** Blocks within blocks, far beyond any network of people: layers that hold themselves end here. */
const DEEPEST = 64

/**
 * Whether it is a Model at all, as data from anywhere may not be: that its layers are layers, and stand in lists. What each of them says is checked
 * where it is built. Throws INVALID_MODEL.
 */
export function checkModel(model: unknown): asserts model is Model {
  if (typeof model !== 'object' || model === null)
    throw new ArbalestError(
      'INVALID_MODEL',
      `model: received ${shown(model)}; give a Model: what defineModel makes of layers, or modelNamed of a name in the zoo`,
      { data: { parameter: 'model', received: model } }
    )
  const { name, input, layers } = model as Partial<Record<keyof Model, unknown>>
  if (typeof name !== 'string') throw fault('model', 'name', name, 'give it a name')
  const extents = Array.isArray(input) && input.length >= 1 && input.length <= 3
  if (!extents || input.some((extent) => !Number.isSafeInteger(extent) || extent < 1))
    throw fault(`model ${name}`, 'input', input, "use one sample's shape, (C, H, W), (T, F) or (F)")
  if (!Array.isArray(layers) || layers.length === 0) throw fault(`model ${name}`, 'layers', layers, 'give it at least one layer')
  checkLayers(`model ${name}`, 'layers', layers, DEEPEST)
}

function checkLayers(model: string, path: string, layers: unknown, deepest: number): void {
  if (!Array.isArray(layers)) throw fault(model, path, layers, 'give it a list of layers')
  if (deepest === 0) throw fault(model, path, `${DEEPEST} blocks within one another`, 'use fewer')
  // Not `forEach`, which passes over what was left out of a list.
  for (const [i, layer] of layers.entries()) checkLayer(model, `${path}.${i}`, layer, deepest)
}

function checkLayer(model: string, path: string, layer: unknown, deepest: number): void {
  if (typeof layer !== 'object' || layer === null) throw fault(model, path, layer, 'use a layer, as conv2d() makes one')
  const { kind, body, shortcut, branches } = layer as Readonly<Record<string, unknown>>
  if (typeof kind !== 'string' || !layerKinds.includes(kind))
    throw fault(model, `${path}.kind`, kind, `use one of ${layerKinds.join(', ')}`)
  if (kind === 'residual' || kind === 'multiply') {
    checkLayers(model, `${path}.body`, body, deepest - 1)
    if (shortcut !== undefined) checkLayers(model, `${path}.shortcut`, shortcut, deepest - 1)
  }
  if (kind === 'concat') {
    if (!Array.isArray(branches)) throw fault(model, `${path}.branches`, branches, 'give it a list of lists of layers')
    for (const [i, branch] of branches.entries()) checkLayers(model, `${path}.branches.${i}`, branch, deepest - 1)
  }
}

function fault(model: string, path: string, received: unknown, mend: string): ArbalestError {
  return new ArbalestError('INVALID_MODEL', `${model}: ${path}: received ${shown(received)}; ${mend}`, {
    data: { parameter: path, received }
  })
}
