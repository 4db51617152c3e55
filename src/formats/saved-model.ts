import type { Model } from '../model/model.js'
import type { Normalisation } from '../model/normalisation.js'
import type { SampleEncoding } from './encoding.js'
import type { FloatTensors } from './tensor.js'

/** A trained model's weights and statistics in plain arrays, independent of any engine. */
export interface SavedModel {
  readonly model: Model
  readonly weights: FloatTensors
  readonly statistics: FloatTensors
  readonly normalisation: Normalisation
  readonly classNames?: readonly string[]
  /** Of a model of a table or of texts. */
  readonly encoding?: SampleEncoding
}
