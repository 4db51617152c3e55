import { group, option } from '../../schema/group.js'
import { whole } from '../../schema/values.js'

/** The options of `digits`. */
export const digitsOptions = group({
  /** Training samples; there are a tenth as many for testing. */
  samples: option(whole({ min: 10, max: 1_000_000 })),
  seed: option(whole())
})
