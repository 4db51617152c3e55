import type { Layer } from './model.js'

/** The sequences of layers that a layer is made of; none for most. */
export function innerLayers(layer: Layer): readonly (readonly Layer[])[] {
  if (layer.kind === 'concat') return layer.branches
  if (layer.kind === 'residual' || layer.kind === 'multiply') return [layer.body, layer.shortcut ?? []]
  return []
}
