import { didYouMean } from '../did-you-mean.js'
import { ArbalestError, shown } from '../errors.js'
import type { Layer } from './layer.js'
// Every kind of layer adds itself to the table.
import './operators/index.js'
import { layerKinds, layerRow, propertiesOf } from './operators/layer-table.js'
import type { LossName } from './operators/losses.js'

/** Layers as plain data, made by the functions of `operators/` or by hand; `graph-builder.ts` turns them into a Graph. */
export interface Model {
  readonly name: string
  /** One sample's shape: (C, H, W), (F), a sequence (T, F), or (T) tokens where the first layer is an embedding. */
  readonly input: readonly number[]
  readonly layers: readonly Layer[]
  readonly loss: LossName
  /** Of softmax cross-entropy in training, 0 if left out: so much of each target is spread evenly over all classes (Szegedy et al., CVPR 2016). */
  readonly labelSmoothing?: number
  /**
   * Of softmax cross-entropy in training, one for each class, 1 if left out: how much a sample counts whose class it is. As PyTorch's `CrossEntropyLoss(weight)`, the loss of a batch
   * is divided by the sum of its samples' weights. The loss that is measured of test samples has no weights.
   */
  readonly classWeights?: readonly number[]
  /**
   * Of binary cross-entropy in training, one number for all labels or one for each, 1 if left out: how much an element counts whose label holds. As PyTorch's `BCEWithLogitsLoss(pos_weight)`, the
   * loss is the mean over all elements. The loss that is measured of test samples has no weights.
   */
  readonly positiveWeights?: number | readonly number[]
}

/** A record, so that the compiler notices a missing name. */
const PROPERTIES: Readonly<Record<keyof Model, true>> = {
  name: true,
  input: true,
  layers: true,
  loss: true,
  labelSmoothing: true,
  classWeights: true,
  positiveWeights: true
}

/** A Model from its layers; the loss is softmax cross-entropy if left out. Shapes are checked when its Graph is built. Throws INVALID_MODEL for what is no object. */
export function defineModel(model: Omit<Model, 'loss'> & Partial<Pick<Model, 'loss'>>): Model {
  checkObject(model, 'give it a name, an input and layers')
  return { ...model, loss: model.loss ?? 'softmaxCrossEntropy' }
}

/** Whether a model's samples are token ids. */
export function takesTokens({ layers }: Model): boolean {
  return layers[0]?.kind === 'embedding'
}

/** Lists of layers within one another, the model's own included: no real network is deeper, and a layer that contains itself ends here. */
export const MOST_NESTED_LISTS = 64

/**
 * Checks that data of any origin is a Model: its layers are layers of known kinds, in lists. The options of a layer are checked when its graph is
 * built. Throws INVALID_MODEL.
 */
export function checkModel(model: unknown): asserts model is Model {
  checkObject(model, 'give a Model: what defineModel makes of layers, or modelNamed of a name in the zoo')
  const { name, input, layers } = model as Partial<Record<keyof Model, unknown>>
  if (typeof name !== 'string') throw fault('model', 'name', name, 'give it a name')
  checkKnown(`model ${name}`, '', model, Object.keys(PROPERTIES))
  const extents = Array.isArray(input) && input.length >= 1 && input.length <= 3
  if (!extents || input.some((extent) => !Number.isSafeInteger(extent) || extent < 1))
    throw fault(`model ${name}`, 'input', input, "use one sample's shape, (C, H, W), (T, F) or (F)")
  if (!Array.isArray(layers) || layers.length === 0) throw fault(`model ${name}`, 'layers', layers, 'give it at least one layer')
  checkLayers(`model ${name}`, 'layers', layers, MOST_NESTED_LISTS)
}

function checkObject(model: unknown, fix: string): asserts model is object {
  if (typeof model === 'object' && model !== null) return
  throw new ArbalestError('INVALID_MODEL', `model: received ${shown(model)}; ${fix}`, { data: { parameter: 'model', received: model } })
}

function checkLayers(model: string, path: string, layers: unknown, deepest: number): void {
  if (!Array.isArray(layers)) throw fault(model, path, layers, 'give it a list of layers')
  if (deepest === 0) throw fault(model, path, `${MOST_NESTED_LISTS} blocks within one another`, 'use fewer')
  // Not `forEach`, which skips the holes of a list.
  for (const [i, layer] of layers.entries()) checkLayer(model, `${path}.${i}`, layer, deepest)
}

function checkLayer(model: string, path: string, layer: unknown, deepest: number): void {
  if (typeof layer !== 'object' || layer === null) throw fault(model, path, layer, 'use a layer, as conv2d() makes one')
  if (Array.isArray(layer)) throw fault(model, path, layer, 'it is a list of layers: put them into the outer list, as ...block() does')
  const { kind, ...properties } = layer as Readonly<Record<string, unknown>>
  const row = typeof kind === 'string' ? layerRow(kind) : undefined
  if (!row) throw fault(model, `${path}.kind`, kind, `use one of ${layerKinds().join(', ')}`)
  checkKnown(model, `${path}.`, properties, propertiesOf(row))
  for (const [key, form] of Object.entries(row.inner ?? {})) {
    const inner = properties[key]
    if (form === 'optional' && inner === undefined) continue
    if (form !== 'lists') checkLayers(model, `${path}.${key}`, inner, deepest - 1)
    else if (!Array.isArray(inner)) throw fault(model, `${path}.${key}`, inner, 'give it a list of lists of layers')
    else for (const [i, list] of inner.entries()) checkLayers(model, `${path}.${key}.${i}`, list, deepest - 1)
  }
}

/** A mistyped property would have no effect, and nobody would know. Throws INVALID_MODEL. */
function checkKnown(model: string, prefix: string, given: object, known: readonly string[]): void {
  for (const [name, value] of Object.entries(given))
    if (value !== undefined && !known.includes(name))
      throw fault(model, `${prefix}${name}`, value, `use only ${known.join(', ')}${didYouMean(name, known)}`)
}

function fault(model: string, path: string, received: unknown, fix: string): ArbalestError {
  return new ArbalestError('INVALID_MODEL', `${model}: ${path}: received ${shown(received)}; ${fix}`, {
    data: { parameter: path, received }
  })
}
