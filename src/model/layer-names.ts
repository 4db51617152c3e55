import { ArbalestError } from '../errors.js'
import type { Layer } from './model.js'

const AUTOMATIC: Readonly<Record<Layer['kind'], string>> = {
  conv2d: 'conv',
  linear: 'linear',
  embedding: 'embedding',
  positions: 'positions',
  causalSelfAttention: 'attention',
  layerNorm: 'norm',
  batchNorm2d: 'bn',
  relu: 'relu',
  sigmoid: 'sigmoid',
  tanh: 'tanh',
  leakyRelu: 'leakyRelu',
  gelu: 'gelu',
  silu: 'silu',
  localResponseNorm: 'lrn',
  maxPool2d: 'pool',
  avgPool2d: 'pool',
  globalAvgPool: 'pool',
  flatten: 'flatten',
  dropout: 'dropout',
  residual: 'block',
  multiply: 'multiply',
  concat: 'concat',
  subsamplePad: 'subsample',
  composed: 'composed'
}

/** Every kind of layer that there is. */
export const layerKinds: readonly string[] = Object.keys(AUTOMATIC)

/**
 * One name a layer: its own where it has one, else its kind and the first number that is free among its neighbours: `conv1`, `bn1`,
 * `conv2`. Throws INVALID_MODEL for names given twice.
 */
export function layerNames(layers: readonly Layer[], prefix: string): string[] {
  const taken = new Set<string>()
  for (const { name } of layers) {
    if (name === undefined) continue
    if (typeof name !== 'string' || name === '' || /\s/.test(name))
      throw new ArbalestError('INVALID_MODEL', `layer ${prefix}${name}: a name has at least one character and no space; give it another`)
    if (taken.has(name)) throw new ArbalestError('INVALID_MODEL', `layer ${prefix}${name}: two layers have this name; rename one`)
    taken.add(name)
  }
  return layers.map((layer) => {
    if (layer.name !== undefined) return prefix + layer.name
    const stem = AUTOMATIC[layer.kind]
    let number = 1
    while (taken.has(`${stem}${number}`)) number++
    taken.add(`${stem}${number}`)
    return `${prefix}${stem}${number}`
  })
}
