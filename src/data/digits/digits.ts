import { invalidOption } from '../../errors.js'
import type { Dataset } from '../dataset.js'
import { DIGIT_SIDE, generateDigits } from './generate.js'
import { SKELETONS } from './skeletons.js'

const FEWEST = 10
const MOST = 1_000_000

/**
 * A generated set of drawn digits, (1, 28, 28): `samples` to learn from (20,000) and a tenth of that to be measured on. The same for the
 * same seed on every machine. Made for a first run without files; a linear model reaches about 89%, LeNet 98 to 99%.
 */
export async function digits(options: { readonly samples?: number; readonly seed?: number } = {}): Promise<Dataset> {
  const { samples = 20_000, seed = 0 } = options
  if (!Number.isInteger(samples) || samples < FEWEST || samples > MOST) {
    throw invalidOption('samples', samples, `use a whole number from ${FEWEST} to ${MOST}`)
  }
  if (!Number.isSafeInteger(seed) || seed < 0) throw invalidOption('seed', seed, 'use a whole number from 0 to 2^53 - 1')
  const sample = [1, DIGIT_SIDE, DIGIT_SIDE]
  const classes = SKELETONS.length
  const train = await generateDigits(samples, seed, 0)
  const test = await generateDigits(Math.ceil(samples / 10), seed, 1)
  return {
    name: 'digits',
    sample,
    classes,
    mean: [0.103],
    deviation: [0.23],
    augmentation: { padding: 0, flip: false },
    train: { count: train.labels.length, sample, samples: train.images, labels: train.labels, classes },
    test: { count: test.labels.length, sample, samples: test.images, labels: test.labels, classes }
  }
}
