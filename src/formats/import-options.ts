import type { Model } from '../model/model.js'
import type { Normalisation } from '../model/normalisation.js'
import { group, option } from '../schema/group.js'
import { anything, kind, list, text, truth, whole } from '../schema/values.js'

/** How a file's tensors find their places in a model. */
export interface ImportOptions {
  /**
   * Maps the file's names to the model's: a record of the names that differ, or a function that returns undefined for tensors to ignore.
   * The results may use PyTorch's `running_mean` and `running_var`. If omitted, the names are the model's, all of them with a prefix such as `module.` or with none.
   */
  readonly names?: Readonly<Record<string, string>> | ((name: string) => string | undefined)
  /** Layers or parameters that get initial values instead of the file's: `fc` stands for `fc.weight` and `fc.bias`, `*` for any characters. */
  readonly reinitialise?: readonly string[]
  /** Whether every tensor of the file must be used and every value of the model must be in the file; true if omitted. Shapes must always agree. */
  readonly strict?: boolean
  /** Seeds the initial values of reinitialised and missing parameters; 0 if omitted. */
  readonly seed?: number
}

/** Properties of the model that the file does not describe, and how the file's names map to the model's. */
export interface ReadModelOptions extends ImportOptions {
  /** Needed unless the file describes its model. A file that Arbalest did not write has no description, and no file has the code of user-defined operators. */
  readonly model?: Model | undefined
  /** Used if the file has none; ImageNet's for the zoo's models of colour photographs if omitted. */
  readonly normalisation?: Normalisation | undefined
  /** Used if the file has none. */
  readonly classNames?: readonly string[] | undefined
  /** Positions of a model of texts from a Hugging Face folder; as many as the folder has if omitted. */
  readonly context?: number | undefined
}

const names = kind<NonNullable<ImportOptions['names']>>(
  (value) => typeof value === 'function' || (typeof value === 'object' && value !== null && !Array.isArray(value)),
  "a record from the file's names to the model's, or a function"
)

const layers = list(text('a list of layers'), 'a list of layers')

export const importOptions = group({ names: option(names), reinitialise: option(layers), strict: option(truth()), seed: option(whole()) })

export const readModelOptions = group({
  ...importOptions.entries,
  model: option(anything<Model>()),
  normalisation: option(anything<Normalisation>()),
  classNames: option(
    kind<readonly string[]>((value) => Array.isArray(value) && value.every((each) => typeof each === 'string'), 'a list of names')
  ),
  context: option(whole({ min: 1, max: 2 ** 20 }))
})

/** The path of a model's file, as a caller gives it. */
export const modelPath = text("the path of a model's file or folder")
