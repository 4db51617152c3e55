import { invalidOption } from '../../errors.js'
import { BORDERS, FLIPS, mixes, MOST_MIXING, mostCutout, mostPadding, type Augmentation } from '../augmentation.js'
import type { Attributes, NoAttributes, Operator, ValueId } from '../graph.js'
import { shownShape } from '../layer-checks.js'
import type { Mode } from './layer-writer.js'
import { defineOperators, sizeOf } from './table.js'

/** Operators that no layer makes: a step loads its batch, and the compiler adds what the engine needs. */

type LoadAttributes = {
  readonly padding: number
  readonly border: number
  readonly flip: number
  readonly cutout?: number
  readonly mixup?: number
  readonly cutmix?: number
  readonly mean: readonly number[]
  readonly std: readonly number[]
  readonly shuffled: number
}

declare module '../graph.js' {
  interface Operators {
    /** -> x, target: class numbers or numbers; where images are mixed, class numbers become shares of classes (N,K) */
    load: LoadAttributes
    /** x, ... -> y, ...: the same tensors in another layout or element type; several where the backend reorders them together */
    reorder: NoAttributes
    /** The learners' group meets here. */
    exchange: NoAttributes
    /** The optimiser over the whole parameter vector; compiler/optimiser.ts makes its attributes. */
    update: Attributes
    /** x -> staged: begins to copy a value to the second tier of memory */
    store: NoAttributes
    /** staged -> x: begins to copy it back */
    fetch: NoAttributes
    /** from, to ->: waits until the one has been copied to the other */
    settle: NoAttributes
  }
}

/** How samples come into a batch. `evaluate` takes them in order and as they are: only `mean` and `std` count there. */
export interface LoadOptions extends Partial<Augmentation> {
  /** One for all channels or one a channel, of pixels in 0 to 1: x becomes (x - mean) / std. */
  readonly mean?: readonly number[]
  readonly std?: readonly number[]
  /** In a seeded random order, a new one every epoch. */
  readonly shuffled?: boolean
}

defineOperators({
  load: { flops: ({ outputs: [x] }) => 2 * sizeOf(x) },
  reorder: {},
  exchange: {},
  update: {},
  store: {},
  fetch: {},
  settle: {}
})

/** Whether a mode changes the samples that it loads. */
function augments(mode: Mode): boolean {
  return mode !== 'evaluate'
}

/** Whether a step loads mixed images, with shares of classes instead of class numbers. */
export function loadsMixed(mode: Mode, options: LoadOptions): boolean {
  return augments(mode) && mixes(options)
}

/** The operator that loads a batch of samples of a shape (N, ...sample). Throws INVALID_OPTION. */
export function loading(
  [batch, ...sample]: readonly number[],
  mode: Mode,
  { padding = 0, border = 'zeros', flip = false, cutout = 0, mixup = 0, cutmix = 0, mean = [], std = [], shuffled = true }: LoadOptions,
  outputs: readonly ValueId[]
): Operator {
  if (!Number.isSafeInteger(padding) || padding < 0 || padding > 2 ** 15)
    throw invalidOption('load.padding', padding, 'use a whole number of at least 0')
  if ((padding > 0 || flip) && sample.length !== 3)
    throw invalidOption(
      padding > 0 ? 'load.padding' : 'load.flip',
      padding || flip,
      'leave it out: only images (C, H, W) are cropped and flipped'
    )
  if (!Number.isSafeInteger(cutout) || cutout < 0 || cutout > mostCutout(sample))
    throw invalidOption('load.cutout', cutout, `use a whole number from 0 to ${mostCutout(sample)}, the shorter side of an image (C, H, W)`)
  for (const [name, most] of Object.entries({ mixup, cutmix })) {
    if (typeof most !== 'number' || !(most >= 0 && most <= MOST_MIXING))
      throw invalidOption(`load.${name}`, most, `use a number above 0, up to ${MOST_MIXING}, or 0 for none`)
    if (most > 0 && sample.length !== 3) throw invalidOption(`load.${name}`, most, 'leave it out: only images (C, H, W) are mixed')
    if (most > 0 && batch === 1 && augments(mode))
      throw invalidOption('batch', batch, 'use at least 2, or leave mixup and cutmix out: the images of a batch are mixed in pairs')
  }
  if (!BORDERS.includes(border)) throw invalidOption('load.border', border, `use ${BORDERS.join(' or ')}`)
  if (!FLIPS.includes(flip)) throw invalidOption('load.flip', flip, "use true, false or 'alternate'")
  if (border === 'reflect' && padding > mostPadding(sample, border))
    throw invalidOption(
      'load.padding',
      padding,
      `use at most ${mostPadding(sample, border)}, the pixels beside an edge of ${shownShape(sample)}`
    )
  for (const [name, list] of Object.entries({ mean, std }))
    if (![0, 1, sample.length === 3 ? sample[0] : 1].includes(list.length) || !list.every(Number.isFinite))
      throw invalidOption(`load.${name}`, list, `give one number, or one for each channel of ${shownShape(sample)}`)
  if (std.includes(0)) throw invalidOption('load.std', std, 'use numbers other than 0')
  const augmented = augments(mode)
  const attributes = {
    padding: augmented ? padding : 0,
    border: augmented && padding > 0 ? BORDERS.indexOf(border) : 0,
    flip: augmented ? FLIPS.indexOf(flip) : 0,
    ...(augmented && cutout > 0 && { cutout }),
    ...(augmented && mixup > 0 && { mixup }),
    ...(augmented && cutmix > 0 && { cutmix }),
    mean,
    std,
    shuffled: augmented && shuffled ? 1 : 0
  }
  return { kind: 'load', name: 'load', inputs: [], outputs, attributes }
}
