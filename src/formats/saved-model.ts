import { invalidOption } from '../errors.js'
import { checkModel, type Model } from '../model/model.js'
import type { Normalisation } from '../model/normalisation.js'
import { checkDescription, checkedNormalisation, type SampleEncoding } from './encoding.js'
import { checkTensor, type FloatTensors } from './tensor.js'

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

/** Throws INVALID_OPTION and INVALID_MODEL for what is none: a file with a part of a model would be useless. Whether its tensors are those of the model is checked where they are used. */
export function checkSaved(saved: unknown): asserts saved is SavedModel {
  if (typeof saved !== 'object' || saved === null)
    throw invalidOption('saved', saved, 'give what readModel reads, or an object with model, weights, statistics and normalisation')
  const { model, weights, statistics, normalisation, classNames, encoding } = saved as Partial<SavedModel>
  checkModel(model)
  for (const [name, tensors] of Object.entries({ weights, statistics })) {
    if (typeof tensors !== 'object' || tensors === null)
      throw invalidOption(name, tensors, 'give an object with the tensors by their names')
    for (const [tensor, value] of Object.entries(tensors)) checkTensor(tensor, value)
  }
  checkedNormalisation(normalisation as SavedModel['normalisation'], model)
  checkDescription(classNames, encoding)
}
