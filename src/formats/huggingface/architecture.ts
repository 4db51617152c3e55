import type { Layer } from '../../model/layer.js'
import type { Model } from '../../model/model.js'
import type { LossName } from '../../model/operators/losses.js'
import type { PlainObject } from '../json-file.js'
import type { TensorRule } from './tensor-rules.js'

/** What a model is asked for by its data: one sample's shape, outputs of the head, and its loss. */
export interface Wanted {
  readonly input?: readonly number[] | undefined
  readonly classes?: number | undefined
  readonly loss?: LossName | undefined
}

/** A model that a folder has, as its config.json says. */
export interface FolderModel {
  /** The model for some data; for what the folder was made for if nothing else is wanted. Throws INVALID_OPTION, SHAPE_MISMATCH. */
  modelFor(wanted: Wanted): Model
  /** Of the model that `modelFor` has made. */
  rules(model: Model): readonly TensorRule[]
  /** How many classes the folder's head has, or tokens. */
  readonly classes: number
  /** What the outputs of the folder's head are: classes, or numbers. */
  readonly loss: LossName
  /** Height and width of an image as the config has it, if it does. */
  readonly imageSize?: number
  /** Of an image, for a model of images. */
  readonly channels?: number
}

/** One architecture of the library transformers. */
export interface Architecture {
  /** As `model_type` of config.json has it. */
  readonly type: string
  /** What a sample is. */
  readonly samples: 'tokens' | 'images'
  /** Of names, in a folder that has its head. */
  readonly prefix: string
  /** Tensors that a model of ours does not need. */
  readonly ignored: RegExp
  /** The layer that other classes need anew. */
  readonly head: string
  /** Throws DATA_CORRUPT, UNSUPPORTED_OPERATOR. `file` is that of the config. */
  read(config: PlainObject, file: string): FolderModel
  /** The config of a model with these layers, beside its classes; undefined for a model of another architecture. */
  configOf(model: Model): { readonly config: PlainObject; readonly rules: readonly TensorRule[] } | undefined
}

/** Whether two models compute the same: initial values, frozen layers, rates of dropout and the names of the models have no part in that. */
export function computesAs(a: Model, b: Model): boolean {
  return JSON.stringify(essence([a.input, a.layers])) === JSON.stringify(essence([b.input, b.layers]))
}

const ACCIDENTAL = new Set(['initialiser', 'biasInitialiser', 'frozen', 'gamma'])

function essence(part: unknown): unknown {
  if (Array.isArray(part)) return part.filter((each) => (each as Partial<Layer> | null)?.kind !== 'dropout').map(essence)
  if (typeof part !== 'object' || part === null) return part
  const kept = Object.entries(part).filter(([name, value]) => !ACCIDENTAL.has(name) && value !== undefined)
  return Object.fromEntries(kept.sort(([x], [y]) => (x < y ? -1 : 1)).map(([name, value]) => [name, essence(value)]))
}
