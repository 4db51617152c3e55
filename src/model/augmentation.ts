/** Changes of training images (C, H, W), each time that one is used: a random crop, then a flip, then a cutout; then two images of a batch may be mixed. */
export interface Augmentation {
  /** Pixels added on each side before a random crop of the original size, up to the shorter side, or one less with `reflect`; 0 for no crop. */
  readonly padding: number
  /** What is added: zero bytes, or the image mirrored at its edge, whose pixels are not repeated, as PyTorch's `pad` mirrors. `zeros` if omitted. */
  readonly border?: 'zeros' | 'reflect'
  /**
   * Mirrors left and right. `true`: each time with a probability of 1/2. `alternate`: so in epoch 0, and in each epoch after it the other way than in the epoch
   * before (Jordan 2024, "94% on CIFAR-10 in 3.29 seconds on a single GPU", section 3.6).
   */
  readonly flip: boolean | 'alternate'
  /**
   * The side in pixels of a square around a random pixel that is cut out of each image: it becomes the mean colour, and pixels that have a label lose it. Up to the shorter side; 0, or left out, for none.
   * DeVries and Taylor, "Improved Regularization of Convolutional Neural Networks with Cutout", 2017, which has 16 for CIFAR-10 and 8 for CIFAR-100.
   */
  readonly cutout?: number
  /**
   * Blends images of a batch in pairs, and their targets with them: each keeps a share drawn from Beta(mixup, mixup). Above 0, up to 2; 0, or left out, for none. Classes become
   * shares of classes, which the loss of softmax takes in training.
   * Zhang, Cisse, Dauphin and Lopez-Paz, "mixup: Beyond Empirical Risk Minimization", ICLR 2018, which has 0.1 to 0.4 for ImageNet and 1 for CIFAR-10.
   */
  readonly mixup?: number
  /**
   * Lays a rectangle of each image of a pair over the other, and mixes their targets by its area, 1 less a share drawn from Beta(cutmix, cutmix). Above 0, up to 2; 0, or left out, for
   * none. Beside `mixup` each pair takes one of the two at random.
   * Yun, Han, Oh, Chun, Choe and Yoo, "CutMix", ICCV 2019, which has 1.
   */
  readonly cutmix?: number
}

/** An index in these is a number of the enums of load_plan.h. */
export const BORDERS = ['zeros', 'reflect'] as const satisfies readonly Augmentation['border'][]
export const FLIPS = [false, true, 'alternate'] as const satisfies readonly Augmentation['flip'][]

export const NO_AUGMENTATION: Augmentation = { padding: 0, flip: false }

/** The largest `mixup` and `cutmix`. */
export const MOST_MIXING = 2

/** Whether images are mixed in pairs. */
export function mixes({ mixup = 0, cutmix = 0 }: Partial<Augmentation>): boolean {
  return mixup > 0 || cutmix > 0
}

/** The side of the largest cutout of images (C, H, W). */
export function mostCutout([, height = 0, width = 0]: readonly number[]): number {
  return Math.min(height, width)
}

/** The most padding of images (C, H, W): the shorter side, at which a crop may be all border; one less with `reflect`, which does not repeat the edge. */
export function mostPadding([, height = 0, width = 0]: readonly number[], border: Augmentation['border'] = 'zeros'): number {
  const side = Math.min(height, width)
  return border === 'zeros' ? side : Math.max(side - 1, 0)
}
