import { invalidOption } from '../../errors.js'
import { check } from '../../schema/faults.js'
import { group, option, type GivenOptions } from '../../schema/group.js'
import { oneOf, truth, whole } from '../../schema/values.js'
import { batchNorm2d, conv2d, defineModel, globalAvgPool, linear, maxPool2d, relu, residual } from '../layers.js'
import type { Layer } from '../layer.js'
import type { Model } from '../model.js'
import { checkedShape, IMAGENET, IMAGENET_PIXELS, type ZooFamily, type ZooShape } from './family.js'

const imagenetResnetOptions = group({
  /** 18, 34, 50, 101 or 152 layers; 50 if omitted. */
  depth: option(whole(), { default: 50 }),
  /**
   * What comes before the first block: `large`, a 7x7 convolution of stride 2 and max pooling, for images of about 224 pixels; `small`, a 3x3
   * convolution of stride 1 alone, for images of about 32; `large` if omitted.
   */
  stem: option(oneOf(['large', 'small']), { default: 'large' }),
  /** The last batch norm of every block begins with gamma 0, so that blocks begin as the identity (Goyal et al., 2017, section 5.1). */
  zeroInitResidual: option(truth(), { default: false })
})

/** Which ResNet, and how it begins. */
export interface ImagenetResnetOptions extends GivenOptions<typeof imagenetResnetOptions> {}

/** Blocks of each stage, and which blocks they are (He et al., table 1). */
const DEPTHS: Readonly<Record<number, readonly [block: ResnetBlock, ...blocks: number[]]>> = {
  18: ['basic', 2, 2, 2, 2],
  34: ['basic', 3, 4, 6, 3],
  50: ['bottleneck', 3, 4, 6, 3],
  101: ['bottleneck', 3, 4, 23, 3],
  152: ['bottleneck', 3, 8, 36, 3]
}

/**
 * The ResNets for ImageNet (He et al., CVPR 2016, section 4.1): a stem, four stages of blocks with 64 to 512 filters, global average pooling and
 * a linear layer. As in torchvision, from which also the names are: in a bottleneck block the 3x3 convolution has the stride. Convolutions start
 * from He's normal distribution with fan-out.
 *
 * Throws INVALID_OPTION for a depth that is not in the paper.
 */
export function imagenetResnet(shape: ZooShape, options: ImagenetResnetOptions = {}): Model {
  const { input, classes } = checkedShape(shape)
  const { depth, stem, zeroInitResidual } = check(imagenetResnetOptions, options)
  if (!Object.hasOwn(DEPTHS, depth)) throw invalidOption('depth', depth, `use one of ${Object.keys(DEPTHS).join(', ')}`)
  const [block, ...counts] = DEPTHS[depth]!
  const widths = [64, 128, 256, 512].map((filters) => filters * EXPANSION[block])
  const stages = widths.map((channels, i) => ({ channels, blocks: counts[i]! }))
  const form = { block, stem, stemChannels: 64, stages, strideInFirst: false, halvesFirstStage: false }
  return resnetOfForm(`resnet${depth}`, { input, classes }, form, { zeroInitResidual })
}

/** The sizes that distinguish one ResNet of this architecture from another. */
export interface ResnetForm {
  readonly block: ResnetBlock
  readonly stem: 'large' | 'small'
  /** Channels behind the stem. */
  readonly stemChannels: number
  /** Channels that the blocks of a stage give, and how many blocks there are. */
  readonly stages: readonly { readonly channels: number; readonly blocks: number }[]
  /** Whether the first convolution of a bottleneck block has its stride, as in the paper, and not the 3x3 one. */
  readonly strideInFirst: boolean
  /** Whether the first stage halves the image, too. */
  readonly halvesFirstStage: boolean
}

/** Two 3x3 convolutions, or three with a 3x3 one between two 1x1 ones. */
export type ResnetBlock = 'basic' | 'bottleneck'

/** How many times the channels within a block it gives. */
export const EXPANSION: Readonly<Record<ResnetBlock, number>> = { basic: 1, bottleneck: 4 }

/** A ResNet of any form of this architecture. */
export function resnetOfForm(
  name: string,
  { input, classes }: ZooShape,
  { block, stem, stemChannels, stages, strideInFirst, halvesFirstStage }: ResnetForm,
  { zeroInitResidual = false }: Pick<ImagenetResnetOptions, 'zeroInitResidual'> = {}
): Model {
  const gamma = zeroInitResidual ? 0 : 1
  let channels = stemChannels
  const blocks = stages.flatMap(({ channels: after, blocks: count }, stage) =>
    Array.from({ length: count }, (_, i) => {
      const stride = i === 0 && (stage > 0 || halvesFirstStage) ? 2 : 1
      const body = BODIES[block]({ filters: after / EXPANSION[block], stride, gamma, strideInFirst })
      const changes = stride > 1 || channels !== after
      channels = after
      const shortcut = changes ? [convolution(after, 1, stride, '0'), batchNorm2d({ name: '1' })] : []
      return residual({ name: `layer${stage + 1}.${i}`, body, shortcut, shortcutName: 'downsample' })
    })
  )
  return defineModel({
    name,
    input,
    layers: [...STEMS[stem](stemChannels), ...blocks, globalAvgPool(), linear(classes, { name: 'fc' })]
  })
}

const STEMS: Readonly<Record<'large' | 'small', (channels: number) => readonly Layer[]>> = {
  large: (channels) => [
    convolution(channels, 7, 2, 'conv1'),
    batchNorm2d({ name: 'bn1' }),
    relu(),
    maxPool2d(3, { stride: 2, padding: 1 })
  ],
  small: (channels) => [convolution(channels, 3, 1, 'conv1'), batchNorm2d({ name: 'bn1' }), relu()]
}

interface BlockShape {
  readonly filters: number
  readonly stride: number
  /** Of the last batch norm, at first. */
  readonly gamma: number
  readonly strideInFirst: boolean
}

const BODIES: Readonly<Record<ResnetBlock, (shape: BlockShape) => readonly Layer[]>> = {
  basic: ({ filters, stride, gamma }) => [
    convolution(filters, 3, stride, 'conv1'),
    batchNorm2d({ name: 'bn1' }),
    relu(),
    convolution(filters, 3, 1, 'conv2'),
    batchNorm2d({ name: 'bn2', gamma })
  ],
  bottleneck: ({ filters, stride, gamma, strideInFirst }) => [
    convolution(filters, 1, strideInFirst ? stride : 1, 'conv1'),
    batchNorm2d({ name: 'bn1' }),
    relu(),
    convolution(filters, 3, strideInFirst ? 1 : stride, 'conv2'),
    batchNorm2d({ name: 'bn2' }),
    relu(),
    convolution(EXPANSION.bottleneck * filters, 1, 1, 'conv3'),
    batchNorm2d({ name: 'bn3', gamma })
  ]
}

/** Padded so that stride 1 keeps the image's size. */
function convolution(filters: number, kernel: number, stride: number, name: string): Layer {
  return conv2d(filters, kernel, { stride, padding: (kernel - 1) / 2, bias: false, initialiser: 'heNormal', name })
}

const ofDepth = (depth: number) => [`resnet${depth}`, (shape: ZooShape) => imagenetResnet(shape, { depth })] as const

export const imagenetResnetFamily: ZooFamily = {
  models: Object.fromEntries([18, 34, 50, 101, 152].map(ofDepth)),
  usual: { input: [3, 224, 224], classes: 1000 },
  defaults: IMAGENET,
  normalisation: IMAGENET_PIXELS
}
