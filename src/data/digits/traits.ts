import { NO_AUGMENTATION } from '../../model/augmentation.js'
import { group, option } from '../../schema/group.js'
import { whole } from '../../schema/values.js'
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

/** The options of `digits`. */
export const digitsOptions = group({
  /** Training samples; there are a tenth as many for testing. */
  samples: option(whole({ min: 10, max: 1_000_000 })),
  seed: option(whole())
})
