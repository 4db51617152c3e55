import { invalidOption } from '../../errors.js'
import { check } from '../../schema/faults.js'
import { group, option, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { oneOf, truth, whole } from '../../schema/values.js'
import { conv2d, defineModel, globalAvgPool, linear, maxPool2d, relu, residual } from '../layers.js'
import type { Layer } from '../layer.js'
import type { Model } from '../model.js'
import { checkedShape, IMAGENET, IMAGENET_PIXELS, type ZooFamily, type ZooShape } from './family.js'
import { normOf, type Norm, type NormKind } from './resnet.js'

const imagenetResnetOptions = group({
  /** 18, 34, 50, 101 or 152 layers; 50 if omitted. */
  depth: option(whole(), { default: 50 }),
  /**
   * What comes before the first block: `large`, a 7x7 convolution of stride 2 and max pooling, for images of about 224 pixels; `small`, a 3x3
   * convolution of stride 1 alone, for images of about 32; `large` if omitted.
   */
  stem: option(oneOf(['large', 'small']), { default: 'large' }),
  /** Of the 3x3 convolution of a bottleneck block; 1 if omitted. */
  groups: option(whole({ min: 1 }), { default: 1 }),
  /** Channels of such a group in the first stage, twice as many in each stage after it; 64 if omitted. */
  widthPerGroup: option(whole({ min: 1 }), { default: 64 }),
  /** `group`: 32 groups of channels, each normalised by itself, in the place of every batch norm; `batch` if omitted. */
  norm: option(oneOf(['batch', 'group']), { default: 'batch' }),
  /** The last norm of every block begins with gamma 0, so that blocks begin as the identity (Goyal et al., 2017, section 5.1). */
  zeroInitResidual: option(truth(), { default: false })
})

/** Which ResNet, and how it begins. */
export interface ImagenetResnetOptions extends GivenOptions<typeof imagenetResnetOptions>, ToldByName {}

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
 * from He's normal distribution with fan-out. With groups it is a ResNeXt (Xie et al., CVPR 2017), with wider groups a Wide ResNet (Zagoruyko
 * and Komodakis, BMVC 2016), as torchvision makes them of ResNets. With group norms (Wu and He, ECCV 2018) a sample's output does not depend on
 * the others of its batch; timm has `resnet50_gn` with these names.
 *
 * Throws INVALID_OPTION for a depth that is not in the paper, and for groups where no block is a bottleneck.
 */
export function imagenetResnet(shape: ZooShape, options: ImagenetResnetOptions = {}): Model {
  const { input, classes } = checkedShape(shape)
  const { depth, stem, groups, widthPerGroup, norm, zeroInitResidual } = check(imagenetResnetOptions, options)
  if (!Object.hasOwn(DEPTHS, depth)) throw invalidOption('depth', depth, `use one of ${Object.keys(DEPTHS).join(', ')}`)
  const [block, ...counts] = DEPTHS[depth]!
  const grouping = { groups, times: (groups * widthPerGroup) / 64 }
  for (const [name, value, usual] of [
    ['groups', groups, 1],
    ['widthPerGroup', widthPerGroup, 64]
  ] as const)
    if (block === 'basic' && value !== usual) throw invalidOption(name, value, 'use it with 50 layers or more')
  const widths = [64, 128, 256, 512].map((filters) => filters * EXPANSION[block])
  const stages = widths.map((channels, i) => ({ channels, blocks: counts[i]! }))
  const form = { block, stem, stemChannels: 64, stages, strideInFirst: false, halvesFirstStage: false, grouping }
  return resnetOfForm(nameOf(depth, groups, widthPerGroup, norm), { input, classes }, form, { norm, zeroInitResidual })
}

/** torchvision's, with timm's ending. */
function nameOf(depth: number, groups: number, widthPerGroup: number, norm: NormKind): string {
  const ending = norm === 'group' ? '_gn' : ''
  if (groups > 1) return `resnext${depth}_${groups}x${widthPerGroup}d${ending}`
  return (widthPerGroup === 64 ? `resnet${depth}` : `wide_resnet${depth}_${widthPerGroup / 64}`) + ending
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
  /** Of the 3x3 convolution of a bottleneck block, if it is not one group of as many channels as the first one gives in a ResNet. */
  readonly grouping?: Grouping
}

/** Groups, and how many times as many channels as without them. */
interface Grouping {
  readonly groups: number
  readonly times: number
}

/** Two 3x3 convolutions, or three with a 3x3 one between two 1x1 ones. */
export type ResnetBlock = 'basic' | 'bottleneck'

/** How many times the channels within a block it gives. */
export const EXPANSION: Readonly<Record<ResnetBlock, number>> = { basic: 1, bottleneck: 4 }

/** A ResNet of any form of this architecture. */
export function resnetOfForm(
  name: string,
  { input, classes }: ZooShape,
  { block, stem, stemChannels, stages, strideInFirst, halvesFirstStage, grouping = { groups: 1, times: 1 } }: ResnetForm,
  { norm: kind = 'batch', zeroInitResidual = false }: Pick<ImagenetResnetOptions, 'norm' | 'zeroInitResidual'> = {}
): Model {
  const gamma = zeroInitResidual ? 0 : 1
  const norm = normOf(kind, 32)
  let channels = stemChannels
  const blocks = stages.flatMap(({ channels: after, blocks: count }, stage) =>
    Array.from({ length: count }, (_, i) => {
      const stride = i === 0 && (stage > 0 || halvesFirstStage) ? 2 : 1
      const body = BODIES[block]({ filters: after / EXPANSION[block], stride, norm, gamma, strideInFirst, grouping })
      const changes = stride > 1 || channels !== after
      channels = after
      const shortcut = changes ? [convolution(after, 1, stride, '0'), norm({ name: '1' })] : []
      return residual({ name: `layer${stage + 1}.${i}`, body, shortcut, shortcutName: 'downsample' })
    })
  )
  return defineModel({
    name,
    input,
    layers: [...STEMS[stem](stemChannels, norm), ...blocks, globalAvgPool(), linear(classes, { name: 'fc' })]
  })
}

const STEMS: Readonly<Record<'large' | 'small', (channels: number, norm: Norm) => readonly Layer[]>> = {
  large: (channels, norm) => [convolution(channels, 7, 2, 'conv1'), norm({ name: 'bn1' }), relu(), maxPool2d(3, { stride: 2, padding: 1 })],
  small: (channels, norm) => [convolution(channels, 3, 1, 'conv1'), norm({ name: 'bn1' }), relu()]
}

interface BlockShape {
  readonly filters: number
  readonly stride: number
  readonly norm: Norm
  /** Of the last norm, at first. */
  readonly gamma: number
  readonly strideInFirst: boolean
  readonly grouping: Grouping
}

const BODIES: Readonly<Record<ResnetBlock, (shape: BlockShape) => readonly Layer[]>> = {
  basic: ({ filters, stride, norm, gamma }) => [
    convolution(filters, 3, stride, 'conv1'),
    norm({ name: 'bn1' }),
    relu(),
    convolution(filters, 3, 1, 'conv2'),
    norm({ name: 'bn2', gamma })
  ],
  bottleneck: ({ filters, stride, norm, gamma, strideInFirst, grouping: { groups, times } }) => [
    convolution(times * filters, 1, strideInFirst ? stride : 1, 'conv1'),
    norm({ name: 'bn1' }),
    relu(),
    convolution(times * filters, 3, strideInFirst ? 1 : stride, 'conv2', groups),
    norm({ name: 'bn2' }),
    relu(),
    convolution(EXPANSION.bottleneck * filters, 1, 1, 'conv3'),
    norm({ name: 'bn3', gamma })
  ]
}

/** Padded so that stride 1 keeps the image's size. */
function convolution(filters: number, kernel: number, stride: number, name: string, groups = 1): Layer {
  return conv2d(filters, kernel, { stride, padding: (kernel - 1) / 2, bias: false, initialiser: 'heNormal', name, groups })
}

const FAMILY: readonly ImagenetResnetOptions[] = [
  ...[18, 34, 50, 101, 152].map((depth) => ({ depth })),
  { depth: 50, groups: 32, widthPerGroup: 4 },
  { depth: 50, widthPerGroup: 128 },
  { depth: 50, norm: 'group' }
]

export const imagenetResnetFamily: ZooFamily = {
  models: Object.fromEntries(
    FAMILY.map((options) => {
      const { depth, groups, widthPerGroup, norm } = check(imagenetResnetOptions, options)
      return [nameOf(depth, groups, widthPerGroup, norm), (shape: ZooShape) => imagenetResnet(shape, options)]
    })
  ),
  usual: { input: [3, 224, 224], classes: 1000 },
  defaults: IMAGENET,
  normalisation: IMAGENET_PIXELS
}
