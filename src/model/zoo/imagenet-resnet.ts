import { invalidOption } from '../../errors.js'
import { batchNorm2d, conv2d, defineModel, globalAvgPool, linear, maxPool2d, relu, residual } from '../layers.js'
import type { Layer } from '../layer.js'
import type { Model } from '../model.js'
import { defineFamily, IMAGENET, IMAGENET_PIXELS, type ZooShape } from './family.js'

/** Which ResNet, and how it begins. */
export interface ImagenetResnetOptions {
  /** 18, 34, 50, 101 or 152 layers. */
  readonly depth?: number
  /**
   * What comes before the first block: `large`, a 7x7 convolution of stride 2 and max pooling, for images of about 224 pixels; `small`, a 3x3
   * convolution of stride 1 alone, for images of about 32.
   */
  readonly stem?: 'large' | 'small'
  /** The last batch norm of every block begins with gamma 0, so that blocks begin as the identity (Goyal et al., 2017, section 5.1). */
  readonly zeroInitResidual?: boolean
}

/** Blocks of each stage, and which blocks they are (He et al., table 1). */
const DEPTHS: Readonly<Record<number, readonly [block: typeof basic, ...blocks: number[]]>> = {
  18: [basic, 2, 2, 2, 2],
  34: [basic, 3, 4, 6, 3],
  50: [bottleneck, 3, 4, 6, 3],
  101: [bottleneck, 3, 4, 23, 3],
  152: [bottleneck, 3, 8, 36, 3]
}

/**
 * The ResNets for ImageNet (He et al., CVPR 2016, section 4.1): a stem, four stages of blocks with 64 to 512 filters, global average pooling and
 * a linear layer. As in torchvision, from which also the names are: in a bottleneck block the 3x3 convolution has the stride. Convolutions start
 * from He's normal distribution with fan-out.
 *
 * Throws INVALID_OPTION for a depth that is not in the paper.
 */
export function imagenetResnet(
  { input, classes }: ZooShape,
  { depth = 50, stem = 'large', zeroInitResidual = false }: ImagenetResnetOptions = {}
): Model {
  if (!Object.hasOwn(DEPTHS, depth)) throw invalidOption('depth', depth, `use one of ${Object.keys(DEPTHS).join(', ')}`)
  if (!Object.hasOwn(STEMS, stem)) throw invalidOption('stem', stem, `use one of ${Object.keys(STEMS).join(', ')}`)
  const [block, ...counts] = DEPTHS[depth]!
  const gamma = zeroInitResidual ? 0 : 1
  let channels = 64
  const stages = counts.flatMap((count, stage) =>
    Array.from({ length: count }, (_, i) => {
      const stride = stage > 0 && i === 0 ? 2 : 1
      const { body, after } = block({ filters: 64 * 2 ** stage, stride, gamma })
      const changes = stride > 1 || channels !== after
      channels = after
      const shortcut = changes ? [convolution(after, 1, stride, '0'), batchNorm2d({ name: '1' })] : []
      return residual({ name: `layer${stage + 1}.${i}`, body, shortcut, shortcutName: 'downsample' })
    })
  )
  return defineModel({
    name: `resnet${depth}`,
    input,
    layers: [...STEMS[stem], ...stages, globalAvgPool(), linear(classes, { name: 'fc' })]
  })
}

const STEMS: Readonly<Record<'large' | 'small', readonly Layer[]>> = {
  large: [convolution(64, 7, 2, 'conv1'), batchNorm2d({ name: 'bn1' }), relu(), maxPool2d(3, { stride: 2, padding: 1 })],
  small: [convolution(64, 3, 1, 'conv1'), batchNorm2d({ name: 'bn1' }), relu()]
}

interface BlockShape {
  readonly filters: number
  readonly stride: number
  /** Of the last batch norm, at first. */
  readonly gamma: number
}

interface Body {
  readonly body: readonly Layer[]
  /** Channels that it gives. */
  readonly after: number
}

function basic({ filters, stride, gamma }: BlockShape): Body {
  const body = [
    convolution(filters, 3, stride, 'conv1'),
    batchNorm2d({ name: 'bn1' }),
    relu(),
    convolution(filters, 3, 1, 'conv2'),
    batchNorm2d({ name: 'bn2', gamma })
  ]
  return { body, after: filters }
}

function bottleneck({ filters, stride, gamma }: BlockShape): Body {
  const body = [
    convolution(filters, 1, 1, 'conv1'),
    batchNorm2d({ name: 'bn1' }),
    relu(),
    convolution(filters, 3, stride, 'conv2'),
    batchNorm2d({ name: 'bn2' }),
    relu(),
    convolution(4 * filters, 1, 1, 'conv3'),
    batchNorm2d({ name: 'bn3', gamma })
  ]
  return { body, after: 4 * filters }
}

/** Padded so that stride 1 keeps the image's size. */
function convolution(filters: number, kernel: number, stride: number, name: string): Layer {
  return conv2d(filters, kernel, { stride, padding: (kernel - 1) / 2, bias: false, initialiser: 'heNormal', name })
}

const ofDepth = (depth: number) => [`resnet${depth}`, (shape: ZooShape) => imagenetResnet(shape, { depth })] as const

defineFamily({
  models: Object.fromEntries([18, 34, 50, 101, 152].map(ofDepth)),
  usual: { input: [3, 224, 224], classes: 1000 },
  defaults: IMAGENET,
  normalisation: IMAGENET_PIXELS
})
