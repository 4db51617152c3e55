import { avgPool2d, batchNorm2d, concat, conv2d, defineModel, dropout, globalAvgPool, linear, maxPool2d, relu } from '../layers.js'
import type { Layer, Pair } from '../layer.js'
import type { Model } from '../model.js'
import { checkedShape, dropoutRate, fittingSides, IMAGENET, type DropoutOptions, type ZooFamily, type ZooShape } from './family.js'

/** As torchvision draws them: so far out that the bounds cut nothing off. */
const FIRST = { kind: 'truncatedNormal', std: 0.1, bound: 20 } as const

/**
 * Inception-v3 (Szegedy et al., CVPR 2016): branches of convolutions of several sizes side by side, 7x7 ones as 1x7 and 7x1. Layers are named as in
 * torchvision's `inception_v3`, whose weights fit images of any size; the auxiliary classifier, which only adds a loss in training, is left
 * out, and so are its weights in a file. `dropout` is the rate before the last layer.
 *
 * Throws SHAPE_MISMATCH for images below 75 pixels a side.
 */
export function inceptionV3(shape: ZooShape, options: DropoutOptions = {}): Model {
  const { input, classes } = checkedShape(shape)
  const rate = dropoutRate(options, 0.5)
  fittingSides('inception_v3', input, { least: 75, most: 8192 })
  return defineModel({
    name: 'inception_v3',
    input,
    layers: [
      ...convolution('Conv2d_1a_3x3', 32, 3, { stride: 2, padding: 0 }),
      ...convolution('Conv2d_2a_3x3', 32, 3, { padding: 0 }),
      ...convolution('Conv2d_2b_3x3', 64, 3),
      maxPool2d(3, { stride: 2, name: 'maxpool1' }),
      ...convolution('Conv2d_3b_1x1', 80, 1),
      ...convolution('Conv2d_4a_3x3', 192, 3, { padding: 0 }),
      maxPool2d(3, { stride: 2, name: 'maxpool2' }),
      mixed5('Mixed_5b', 32),
      mixed5('Mixed_5c', 64),
      mixed5('Mixed_5d', 64),
      mixed6a('Mixed_6a'),
      mixed6('Mixed_6b', 128),
      mixed6('Mixed_6c', 160),
      mixed6('Mixed_6d', 160),
      mixed6('Mixed_6e', 192),
      mixed7a('Mixed_7a'),
      mixed7('Mixed_7b'),
      mixed7('Mixed_7c'),
      globalAvgPool({ name: 'avgpool' }),
      dropout(rate, { name: 'dropout' }),
      linear(classes, { name: 'fc', initialiser: FIRST })
    ]
  })
}

/** Convolutions of 5x5 and twice 3x3, at 35 pixels a side. */
function mixed5(name: string, pooled: number): Layer {
  return concat(
    [
      convolution('branch1x1', 64, 1),
      [...convolution('branch5x5_1', 48, 1), ...convolution('branch5x5_2', 64, 5)],
      [...convolution('branch3x3dbl_1', 64, 1), ...convolution('branch3x3dbl_2', 96, 3), ...convolution('branch3x3dbl_3', 96, 3)],
      averaged(pooled)
    ],
    { name, branchName: name }
  )
}

/** To 17 pixels a side. */
function mixed6a(name: string): Layer {
  return concat(
    [
      convolution('branch3x3', 384, 3, HALVING),
      [...convolution('branch3x3dbl_1', 64, 1), ...convolution('branch3x3dbl_2', 96, 3), ...convolution('branch3x3dbl_3', 96, 3, HALVING)],
      [maxPool2d(3, { stride: 2, name: 'branch_pool' })]
    ],
    { name, branchName: name }
  )
}

/** Convolutions of 7x7, once and twice, as 1x7 and 7x1. */
function mixed6(name: string, inner: number): Layer {
  const wide: Pair = [1, 7]
  const high: Pair = [7, 1]
  return concat(
    [
      convolution('branch1x1', 192, 1),
      [...convolution('branch7x7_1', inner, 1), ...convolution('branch7x7_2', inner, wide), ...convolution('branch7x7_3', 192, high)],
      [
        ...convolution('branch7x7dbl_1', inner, 1),
        ...convolution('branch7x7dbl_2', inner, high),
        ...convolution('branch7x7dbl_3', inner, wide),
        ...convolution('branch7x7dbl_4', inner, high),
        ...convolution('branch7x7dbl_5', 192, wide)
      ],
      averaged(192)
    ],
    { name, branchName: name }
  )
}

/** To 8 pixels a side. */
function mixed7a(name: string): Layer {
  return concat(
    [
      [...convolution('branch3x3_1', 192, 1), ...convolution('branch3x3_2', 320, 3, HALVING)],
      [
        ...convolution('branch7x7x3_1', 192, 1),
        ...convolution('branch7x7x3_2', 192, [1, 7]),
        ...convolution('branch7x7x3_3', 192, [7, 1]),
        ...convolution('branch7x7x3_4', 192, 3, HALVING)
      ],
      [maxPool2d(3, { stride: 2, name: 'branch_pool' })]
    ],
    { name, branchName: name }
  )
}

/** 1x3 beside 3x1. */
function mixed7(name: string): Layer {
  const split = (first: string, second: string): Layer =>
    concat([convolution(first, 384, [1, 3]), convolution(second, 384, [3, 1])], { name: `${first}b`, branchName: '' })
  return concat(
    [
      convolution('branch1x1', 320, 1),
      [...convolution('branch3x3_1', 384, 1), split('branch3x3_2a', 'branch3x3_2b')],
      [...convolution('branch3x3dbl_1', 448, 1), ...convolution('branch3x3dbl_2', 384, 3), split('branch3x3dbl_3a', 'branch3x3dbl_3b')],
      averaged(192)
    ],
    { name, branchName: name }
  )
}

/** The means of 3x3 pixels, padding counted as zeros, then a 1x1 convolution. */
function averaged(filters: number): Layer[] {
  return [avgPool2d(3, { stride: 1, padding: 1, name: 'pool' }), ...convolution('branch_pool', filters, 1)]
}

const HALVING = { stride: 2, padding: 0 } as const

/** With batch norm and ReLU; padded so that stride 1 keeps the image's size, if `padding` is left out. */
function convolution(
  name: string,
  filters: number,
  kernel: Pair,
  { stride = 1, padding }: { stride?: number; padding?: number } = {}
): Layer[] {
  const [rows, columns] = typeof kernel === 'number' ? [kernel, kernel] : kernel
  return [
    conv2d(filters, kernel, {
      stride,
      padding: padding ?? [(rows - 1) / 2, (columns - 1) / 2],
      bias: false,
      initialiser: FIRST,
      name: `${name}.conv`
    }),
    batchNorm2d({ epsilon: 0.001, name: `${name}.bn` }),
    relu({ name: `${name}.relu` })
  ]
}

export const inceptionFamily: ZooFamily = {
  models: { inception_v3: (shape) => inceptionV3(shape) },
  usual: { input: [3, 299, 299], classes: 1000 },
  defaults: IMAGENET,
  // What torchvision's weights take, in the end: it moves ImageNet's normalisation to this one.
  normalisation: { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] },
  leftOut: /^AuxLogits\./
}
