import type { Dataset } from '../../data/dataset.js'
import { invalidOption } from '../../errors.js'
import { mostCutout } from '../../model/augmentation.js'

/** Options of a run; undefined leaves what the data set's own augmentation has. */
interface AugmentationOptions {
  readonly cutout?: number | undefined
  readonly mixup?: number | undefined
  readonly cutmix?: number | undefined
  readonly batch: number
}

/** The data set with what a run's options change of its augmentation. Throws INVALID_OPTION for what its samples or the batch do not allow. */
export function augmented(dataset: Dataset, { batch, ...options }: AugmentationOptions): Dataset {
  const given = Object.entries(options).filter((entry): entry is [keyof typeof options, number] => entry[1] !== undefined)
  if (given.length === 0) return dataset
  for (const [name, value] of given) {
    const fix = value === 0 ? undefined : faultOf(name, value, dataset, batch)
    if (fix !== undefined) throw invalidOption(name, value, fix)
  }
  return { ...dataset, augmentation: { ...dataset.augmentation, ...Object.fromEntries(given) } }
}

/** How to mend an option; undefined if nothing is wrong with it. */
function faultOf(option: string, value: number, { name, sample, train }: Dataset, batch: number): string | undefined {
  if (sample.length !== 3) return `leave it out: the samples of ${name} are no images (C, H, W)`
  if (option === 'cutout') {
    const most = mostCutout(sample)
    return value > most ? `use at most ${most}, the shorter side of the images of ${name}` : undefined
  }
  if (train.label) return `leave it out: each pixel of the images of ${name} has a class of its own`
  if (option === 'cutmix' && train.target?.length === 3)
    return `leave it out: the targets of ${name} are images too, whose parts would stay where they are`
  return batch === 1 ? 'use a batch of at least 2: the images of a batch are mixed in pairs' : undefined
}
