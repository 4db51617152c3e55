/** Random changes of training images (C, H, W), drawn anew each time that an image is used: a crop, then a flip. */
export interface Augmentation {
  /** Pixels added on each side before a random crop of the original size; 0 for no crop. */
  readonly padding: number
  /** What is added: zero bytes, or the image mirrored at its edge, whose pixels are not repeated. `zeros` if omitted. */
  readonly border?: 'zeros' | 'reflect'
  /**
   * Mirrors left and right. `true`: each time with a probability of 1/2. `alternate`: so in the first epoch, and from then on in every other one, so that two
   * epochs show each image both ways (Jordan 2024, "94% on CIFAR-10 in 3.29 seconds on a single GPU", section 3.6).
   */
  readonly flip: boolean | 'alternate'
}

/** The values of the two, each at the place of its number in native code. */
export const BORDERS = ['zeros', 'reflect'] as const satisfies readonly Augmentation['border'][]
export const FLIPS = [false, true, 'alternate'] as const satisfies readonly Augmentation['flip'][]

export const UNCHANGED: Augmentation = { padding: 0, flip: false }

/** The most padding that images (C, H, W) can have: a crop lies at least half on the image, and a reflection has that many pixels. */
export function mostPadding([, height = 0, width = 0]: readonly number[], border: Augmentation['border'] = 'zeros'): number {
  const side = Math.min(height, width)
  return border === 'zeros' ? side : Math.max(side - 1, 0)
}
