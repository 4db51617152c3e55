import { batchNorm2d, conv2d, globalAvgPool, multiply, residual, stochasticDepth } from '../layers.js'
import type { Layer, Named } from '../layer.js'

/** What MobileNets and EfficientNets are made of: blocks that widen, filter each channel by itself and narrow again (Sandler et al., CVPR 2018). */

/** Makes the layer that follows a batch norm. */
export type MakeActivation = (options?: Named) => Layer

/** Images with a side below this keep their size in the first two strides of 2: five such strides would leave one pixel of an image of 32. */
const SMALL_SIDE = 64

/** Whether two of the strides of 2 are 1. */
export function isSmallImage(input: readonly number[]): boolean {
  return Math.min(...input.slice(1)) < SMALL_SIDE
}

export interface ConvolutionShape {
  readonly filters: number
  readonly kernel: number
  readonly stride?: number
  readonly groups?: number
  /** None if left out. */
  readonly activation?: MakeActivation
  /** Of the batch norm; 1e-5 if left out. */
  readonly epsilon?: number
}

/** With batch norm and an activation function; padded so that stride 1 keeps the image's size. */
export function convolution(
  name: string,
  { filters, kernel, stride = 1, groups = 1, activation, epsilon = 1e-5 }: ConvolutionShape
): Layer[] {
  return [
    conv2d(filters, kernel, { stride, groups, padding: (kernel - 1) / 2, bias: false, initialiser: 'heNormal', name: `${name}.0` }),
    batchNorm2d({ name: `${name}.1`, epsilon }),
    ...(activation ? [activation({ name: `${name}.2` })] : [])
  ]
}

export interface BlockShape {
  /** Of its input. */
  readonly before: number
  /** Of its middle. */
  readonly expanded: number
  /** Of its output. */
  readonly channels: number
  /** Of the convolution of each channel by itself. */
  readonly kernel: number
  readonly stride: number
  readonly activation: MakeActivation
  /** The block has squeeze-and-excitation if it is given. */
  readonly excitation?: ExcitationShape | undefined
  /** Of its batch norms; 1e-5 if left out. */
  readonly epsilon?: number
  /** With what probability training leaves a sample's block out, where it has a shortcut. */
  readonly dropRate?: number
}

/** Squeeze-and-excitation (Hu et al., CVPR 2018): two layers compute a factor for each channel from the means of all channels. */
export interface ExcitationShape {
  /** Between the two layers. */
  readonly squeezed: number
  /** Between the two layers. */
  readonly activation: MakeActivation
  /** Of the factors. */
  readonly scale: MakeActivation
}

/** A block as torchvision names it since MobileNetV3. Around one that keeps the shape lies a shortcut, without an activation behind the sum. */
export function invertedResidual(name: string, shape: BlockShape): Layer[] {
  const { before, expanded, channels, kernel, stride, activation, excitation, epsilon = 1e-5, dropRate = 0 } = shape
  const inner = (prefix: string): Layer[] => {
    let at = 0
    const next = (): string => `${prefix}${at++}`
    return [
      ...(expanded === before ? [] : convolution(next(), { filters: expanded, kernel: 1, activation, epsilon })),
      ...convolution(next(), { filters: expanded, kernel, stride, groups: expanded, activation, epsilon }),
      ...(excitation ? [squeezeAndExcitation(next(), expanded, excitation)] : []),
      ...convolution(next(), { filters: channels, kernel: 1, epsilon })
    ]
  }
  if (stride > 1 || before !== channels) return inner(`${name}.block.`)
  return [residual({ name, body: [...inner('block.'), stochasticDepth(dropRate)], relu: false })]
}

/** Its layers are convolutions, as in torchvision. */
function squeezeAndExcitation(name: string, channels: number, { squeezed, activation, scale }: ExcitationShape): Layer {
  const layer = (filters: number, own: string): Layer =>
    conv2d(filters, 1, { name: own, initialiser: 'heNormal', biasInitialiser: { kind: 'constant', value: 0 } })
  const body = [globalAvgPool({ keepAxes: true }), layer(squeezed, 'fc1'), activation(), layer(channels, 'fc2'), scale()]
  return multiply({ name, body })
}

/** The nearest multiple of 8, but never more than a tenth below. */
export function multipleOf8(channels: number): number {
  const nearest = Math.max(8, Math.floor((channels + 4) / 8) * 8)
  return nearest < 0.9 * channels ? nearest + 8 : nearest
}
