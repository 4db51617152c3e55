import { BORDERS, FLIPS, mixes, MOST_MIXING, mostCutout, mostPadding, type Augmentation } from '../model/augmentation.js'
import { Faults } from '../schema/faults.js'
import { group, option, required, type CheckedOptions } from '../schema/group.js'
import { kind, list, oneOf, real, text, whole } from '../schema/values.js'

/** Samples with either labels or targets. */
export interface SampleArrays {
  /** (count, ...sample): bytes are pixels from 0 to 255, floats are finite and used without scaling, an Int32Array holds ids of tokens. */
  readonly samples: Uint8Array | Float32Array | Int32Array
  /** (count, ...label): class numbers, from 0 to `classes` - 1; with `label` also -1, which counts for nothing. */
  readonly labels?: ArrayLike<number>
  /** (count, ...target): finite numbers. */
  readonly targets?: Float32Array
}

export interface ArrayDatasetOptions extends SampleArrays {
  /** `custom` if omitted. */
  readonly name?: string
  /** One sample's shape: (C, H, W), a sequence (T, F), (F), or (T) tokens. */
  readonly sample: readonly number[]
  /** The number of classes; with labels only. */
  readonly classes?: number
  /** The names of the classes, in the order of their numbers; a saved model keeps them. */
  readonly classNames?: readonly string[]
  /** The shape of a sample's labels where each position has one: (T), or (H, W) of the pixels. Omit it where a sample has one label. */
  readonly label?: readonly number[]
  /** One target's shape; with targets only. */
  readonly target?: readonly number[]
  /** The test set. If omitted, a part of the samples is held out. */
  readonly test?: SampleArrays
  /** The fraction that is held out if `test` is omitted: between 0 and 1, 0.1 if omitted. */
  readonly testFraction?: number
  /** Seeds the choice of the samples that are held out; 0 if omitted. */
  readonly seed?: number
  /**
   * Normalisation for each channel, of samples in 0 to 1; one number for (T, F) and (F) samples. If omitted, the statistics of the training samples if
   * these are bytes, otherwise 0 and 1.
   */
  readonly mean?: readonly number[]
  readonly std?: readonly number[]
  /** Of training samples (C, H, W); none if omitted. */
  readonly augmentation?: Augmentation
}

const isListLike = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Number.isSafeInteger((value as { readonly length?: unknown }).length)
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((each) => typeof each === 'string')

const shape = list(whole({ min: 1 }), 'a list of whole numbers of at least 1', { min: 1 })

const arrays = {
  samples: required(
    kind<SampleArrays['samples']>(
      (value) => value instanceof Uint8Array || value instanceof Float32Array || value instanceof Int32Array,
      'a Uint8Array, a Float32Array, or an Int32Array of tokens'
    )
  ),
  labels: option(kind<ArrayLike<number>>(isListLike, 'a list of class numbers')),
  targets: option(kind<Float32Array>((value) => value instanceof Float32Array, 'a Float32Array'))
}

const arrayOptions = group({
  ...arrays,
  name: option(text('a word or two')),
  sample: required(shape),
  classes: option(whole({ min: 2, max: 2 ** 31 - 1 })),
  classNames: option(kind<readonly string[]>(isTexts, 'a list of names, one for each class')),
  label: option(shape),
  target: option(shape),
  test: option(group(arrays)),
  testFraction: option(real({ above: 0, below: 1 }), { also: ['validationSplit', 'validation_split', 'testSize', 'test_size'] }),
  seed: option(whole()),
  mean: option(list(real({}), 'a number for each channel')),
  std: option(list(real({ above: 0 }), 'a number above 0 for each channel')),
  augmentation: option(
    group({
      padding: required(whole()),
      border: option(oneOf(BORDERS)),
      flip: required(kind<Augmentation['flip']>((value) => FLIPS.includes(value as Augmentation['flip']), "true, false or 'alternate'")),
      cutout: option(whole()),
      mixup: option(real({ min: 0, max: MOST_MIXING })),
      cutmix: option(real({ min: 0, max: MOST_MIXING }))
    })
  )
})

type Checked = CheckedOptions<typeof arrayOptions>

/** Throws INVALID_OPTION, with every fault. */
export function checkedArrayOptions(given: ArrayDatasetOptions): ArrayDatasetOptions {
  const faults = new Faults()
  const options = faults.checked(arrayOptions, withoutNulls(given))
  // What contradicts an option that is itself at fault says nothing.
  faults.throwAny()
  refuseContradictions(options, faults)
  faults.throwAny()
  return options
}

/** JavaScript callers may give null for an omitted array. */
function withoutNulls(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || Object.getPrototypeOf(given) !== Object.prototype) return given
  const members = Object.entries(given).filter(([, value]) => value !== null)
  return Object.fromEntries(members.map(([name, value]) => [name, name === 'test' ? withoutNulls(value) : value]))
}

function refuseContradictions(options: Checked, faults: Faults): void {
  const { samples, labels, targets, sample, classes, classNames, label, target, test, testFraction } = options
  if (sample.length > 3) faults.refuse('sample', sample, 'use the shape of one sample: (C, H, W), (T, F) or (F)')
  if (samples instanceof Int32Array && sample.length !== 1)
    faults.refuse('sample', sample, 'use (T), the number of tokens: an Int32Array holds ids of tokens; make numbers a Float32Array')
  if (labels && targets) faults.refuse('labels', labels, 'give labels or targets, not both')
  else if (labels) {
    if (classes === undefined) faults.refuse('classes', classes, 'labels need the number of classes: a whole number of at least 2')
    if (target) faults.refuse('target', target, 'omit it: labels are given')
  } else if (targets) {
    if (classes !== undefined) faults.refuse('classes', classes, 'omit it: targets are given')
    if (label) faults.refuse('label', label, 'omit it: targets are given')
    if (!target) faults.refuse('target', target, 'targets need the shape of one target')
  } else faults.refuse('labels', labels, 'give labels, which are class numbers, or targets')
  if (classNames && classNames.length !== classes)
    faults.refuse('classNames', classNames, `give ${classes ?? 'no'} names, one for each class`)
  if (test && testFraction !== undefined) faults.refuse('testFraction', testFraction, 'omit it: test is given')
  if (test && ![Uint8Array, Float32Array, Int32Array].some((type) => test.samples instanceof type && samples instanceof type))
    faults.refuse('test.samples', test.samples, 'use the same element type as samples')
  if (test && (!test.labels !== !labels || !test.targets !== !targets))
    faults.refuse('test', Object.keys(test), `give it ${labels ? 'labels' : 'targets'}, as the training samples have`)
  refuseAugmentation(options, faults)
}

function refuseAugmentation({ augmentation, sample, label, target }: Checked, faults: Faults): void {
  if (!augmentation) return
  const { padding, border, flip, cutout = 0, cutmix = 0 } = augmentation
  if (label && (padding > 0 || flip) && String(label) !== String(sample.slice(1)))
    faults.refuse('augmentation', augmentation, 'leave it out, or give each pixel a label: it would move the samples, and not their labels')
  if (target?.length === 3 && (padding > 0 || flip))
    faults.refuse('augmentation', augmentation, 'leave it out: it would move the samples, and not their targets, which are images too')
  const most = sample.length === 3 ? mostPadding(sample, border) : 0
  if (padding > most)
    faults.refuse(
      'augmentation.padding',
      padding,
      `use a whole number from 0 to ${most} for samples of (${sample.join(', ')})${border === 'reflect' ? " with border 'reflect'" : ''}`
    )
  const largest = sample.length === 3 ? mostCutout(sample) : 0
  if (cutout > largest)
    faults.refuse('augmentation.cutout', cutout, `use a whole number from 0 to ${largest} for samples of (${sample.join(', ')})`)
  if (mixes(augmentation) && (sample.length !== 3 || label))
    faults.refuse(
      'augmentation',
      augmentation,
      `leave mixup and cutmix out: only ${label ? 'images that have one label' : '(C, H, W) samples'} are mixed`
    )
  if (cutmix > 0 && target?.length === 3)
    faults.refuse(
      'augmentation.cutmix',
      cutmix,
      'leave it out: it would move parts of the samples, and not of their targets, which are images too'
    )
  if (flip && sample.length !== 3) faults.refuse('augmentation.flip', flip, 'use false: only (C, H, W) samples are mirrored')
}
