import type { Dataset } from '../../data/dataset.js'
import { invalidOption } from '../../errors.js'

/** Options of a run; undefined leaves what the data set's augmentation has. */
interface Mixing {
  readonly mixup?: number | undefined
  readonly cutmix?: number | undefined
  readonly batch: number
}

/** The data set, of whose training images pairs are mixed. Throws INVALID_OPTION where there are no pairs, or what is mixed is no image of one class. */
export function withMixing(dataset: Dataset, { mixup, cutmix, batch }: Mixing): Dataset {
  const { name, sample, train, augmentation } = dataset
  for (const [option, value] of Object.entries({ mixup, cutmix })) {
    if (value === undefined || value === 0) continue
    if (sample.length !== 3) throw invalidOption(option, value, `leave it out: the samples of ${name} are no images (C, H, W)`)
    if (train.label) throw invalidOption(option, value, `leave it out: each pixel of the images of ${name} has a class of its own`)
    if (option === 'cutmix' && train.target?.length === 3)
      throw invalidOption(option, value, `leave it out: the targets of ${name} are images too, whose parts would stay where they are`)
    if (batch === 1) throw invalidOption(option, value, 'use a batch of at least 2: the images of a batch are mixed in pairs')
  }
  if (mixup === undefined && cutmix === undefined) return dataset
  return { ...dataset, augmentation: { ...augmentation, ...(mixup !== undefined && { mixup }), ...(cutmix !== undefined && { cutmix }) } }
}
