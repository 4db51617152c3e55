import type { ValueId } from '../graph.js'
import { invalidLayer } from '../layer-checks.js'
import type { Layer, Layers, Named } from '../layer.js'
import type { LayerWriter } from './layer-writer.js'

/** What the graph's builder must know of a kind of layer. */
export interface LayerRow<L = Layer> {
  /** What its automatic names begin with: `conv` for `conv1`, `conv2`. */
  readonly stem: string
  /** What it has beside its kind and what every layer has. A record, so that the compiler notices a missing name. */
  readonly properties: Readonly<Record<Exclude<keyof L, 'kind' | keyof Named>, true>>
  /** Properties that hold layers: a list, a list that may be left out, or a list of lists. */
  readonly inner?: Readonly<Record<string, 'list' | 'optional' | 'lists'>>
  /** Adds its operators; returns its output for input x. */
  build(layer: L, to: LayerWriter, x: ValueId): ValueId
}

const rows = new Map<string, LayerRow>()

/** Adds rows to the table. */
export function defineLayers(added: { readonly [K in keyof Layers]?: LayerRow<Layers[K]> }): void {
  for (const [kind, row] of Object.entries(added)) rows.set(kind, row)
}

export function layerRow(kind: string): LayerRow | undefined {
  return rows.get(kind)
}

/** Every kind of layer that there is, in the order of the alphabet. */
export function layerKinds(): readonly string[] {
  return [...rows.keys()].sort()
}

/** The sequences of layers that a layer is made of; none for most. */
export function innerLayers(layer: Layer): readonly (readonly Layer[])[] {
  const { inner = {} } = layerRow(layer.kind)!
  const properties = layer as unknown as Readonly<Record<string, unknown>>
  return Object.entries(inner).flatMap(([key, form]) =>
    form === 'lists' ? (properties[key] as Layer[][]) : [(properties[key] ?? []) as Layer[]]
  )
}

/** What every layer may have. */
const NAMED: Readonly<Record<keyof Named, true>> = { name: true, frozen: true }

/** The names of all that layers of a kind may have. */
export function propertiesOf({ properties }: LayerRow): readonly string[] {
  return Object.keys({ ...properties, ...NAMED })
}

/**
 * The options that the function of a layer got. Throws INVALID_MODEL for what is no object: of a number, which PyTorch's functions take in this place, a layer
 * would have nothing.
 */
export function optionsOf<Options extends object>(kind: keyof Layers, options: Options): Options {
  if (typeof options === 'object' && !Array.isArray(options)) return options
  throw invalidLayer(kind, 'options', options, "give an object, such as { name: 'first' }")
}
