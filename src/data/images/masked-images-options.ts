import { Faults } from '../../schema/faults.js'
import { group, option, required, type CheckedOptions, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { list, text, whole } from '../../schema/values.js'
import { imageCrop, imageFolderPlan, imageOptions, type ImageFolderPlan } from './image-options.js'
import { maskOptions, type MaskOptions } from './mask-options.js'

const maskedImagesOptions = group({
  ...imageOptions.entries,
  /** The folder of images. */
  images: required(text('the path of a folder of images')),
  /** The folder of their masks. */
  masks: required(text('the path of a folder of masks')),
  ...maskOptions.entries,
  /** How many classes there are; as many as `values` or `classNames` if omitted. */
  classes: option(whole({ min: 2 })),
  /** The names of the classes, in the order of their numbers; the numbers themselves if omitted. */
  classNames: option(list(text('the name of a class'), 'a list of names', { min: 2 })),
  /** For training: a random crop of an image and its mask, scaled to the size. If omitted, 25 to 100% of the area at ratios of 3:4 to 4:3; `false` for the centre crop. */
  crop: option(imageCrop, { default: { scale: [0.25, 1] } }),
  /** For the centre crop: the length to which the shorter side is scaled before the crop; the size if omitted, so that it shows the shorter side whole. */
  resize: imageOptions.entries.resize
})

/** Which images and masks, and how they become samples (C, H, W) with labels (H, W). */
export interface MaskedImagesOptions extends GivenOptions<typeof maskedImagesOptions>, ToldByName {}

/** Checked options. */
export interface MaskedImagesPlan extends ImageFolderPlan {
  readonly images: string
  readonly masks: string
  readonly mask: MaskOptions
  readonly classes: number
  readonly classNames: readonly string[] | undefined
}

/** Throws INVALID_OPTION and UNKNOWN_NAME with every fault. */
export function maskedImagesPlan(given: MaskedImagesOptions): MaskedImagesPlan {
  const faults = new Faults()
  const checked = faults.checked(maskedImagesOptions, given)
  faults.throwAny()
  const classes = classesOf(checked, faults)
  faults.throwAny()
  const { images, masks, values, ignore, classes: _, classNames, ...ofImages } = checked
  const plan = imageFolderPlan({ ...ofImages, resize: ofImages.resize ?? ofImages.size ?? 224 })
  const mask = { ...(values && { values }), ...(ignore !== undefined && { ignore }) }
  return { ...plan, images, masks, mask, classes, classNames }
}

/** How many there are by each of the options that tell. */
function classesOf(
  { values, classNames, classes }: Pick<CheckedOptions<typeof maskedImagesOptions>, 'values' | 'classNames' | 'classes'>,
  faults: Faults
): number {
  const most = values?.length ?? classNames?.length ?? classes
  if (most === undefined) {
    faults.refuse('classes', undefined, 'say how many classes the masks have, or which values stand for them (`values`)')
    return 0
  }
  if (most < 2) faults.refuse('values', values, 'name what the pixels of at least 2 classes have')
  if (classNames && classNames.length !== most) faults.refuse('classNames', classNames, `give ${most} names, one for each of the values`)
  if (classes !== undefined && classes !== most)
    faults.refuse('classes', classes, `leave it out, or give ${most}, as many as there are names or values`)
  return most
}
