import { NO_AUGMENTATION } from '../../model/augmentation.js'
import type { DatasetTraits } from '../dataset.js'

/** The properties of the generated digits. */
export const DIGITS: DatasetTraits = {
  sample: [1, 28, 28],
  classes: 10,
  classNames: Array.from({ length: 10 }, (_, digit) => `${digit}`),
  mean: [0.103],
  std: [0.23],
  augmentation: NO_AUGMENTATION
}
