/** Options of every layer. */
export interface Named {
  /** Of its parameters and in messages, unique among its neighbours; its kind and a number if left out. */
  readonly name?: string
  /** Its weights and those of the layers inside of it stay as they are, bit for bit. A frozen batch norm still normalises by its batch. */
  readonly frozen?: boolean
}

/** Of height and width: one number for both, or each. */
export type Pair = number | readonly [number, number]

/** Every kind of layer; the files of `operators/` declare them. */
export interface Layers {}

/** A layer as plain data, made by functions such as `conv2d` or by hand; docs/layers.md says which shapes each takes. */
export type Layer = Layers[keyof Layers]

/** The options of a layer beside the properties that are arguments of the function that makes it. */
export type LayerOptions<L, Arguments extends keyof L = never> = Omit<L, 'kind' | Arguments>
