import type { Layer } from './model.js'

/** The sequences of layers that a layer is made of; none for most. */
export function innerLayers(layer: Layer): readonly (readonly Layer[])[] {
  if (layer.kind === 'concat') return layer.branches
  if (layer.kind === 'residual' || layer.kind === 'multiply') return [layer.body, layer.shortcut ?? []]
  return []
}

/** The same layer, made of these sequences. */
export function withInnerLayers(layer: Layer, lists: readonly (readonly Layer[])[]): Layer {
  if (layer.kind === 'concat') return { ...layer, branches: lists }
  if (layer.kind !== 'residual' && layer.kind !== 'multiply') return layer
  const [body = [], shortcut = []] = lists
  return { ...layer, body, ...(layer.shortcut && { shortcut }) }
}
