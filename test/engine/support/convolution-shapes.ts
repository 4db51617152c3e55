import { engine } from '../../../src/engine/native.js'
import { skip } from '../../support/skip.js'
import { activation, wide, type OperatorCase } from './operator-case.js'
import { convolutionPasses, runByOurs } from './own-kernels.js'

export interface ConvolutionShape {
  readonly channels: number
  readonly filters: number
  readonly width: number
  readonly images?: number
  readonly height?: number
  readonly stride?: number
  readonly padding?: number
  readonly kernel?: number
  readonly groups?: number
  readonly bias?: boolean
  readonly relu?: boolean
}

/** A convolution, and its gradients. */
export function passes({
  channels,
  filters,
  width,
  images = 3,
  height = 10,
  stride = 1,
  padding = 1,
  kernel = 3,
  groups = 1,
  bias = true,
  relu = false
}: ConvolutionShape): OperatorCase[] {
  const extent = (size: number): number => Math.floor((size + 2 * padding - kernel) / stride) + 1
  const [x, w, b, y] = [
    activation(images, channels, height, width),
    wide(filters, channels / groups, kernel, kernel),
    wide(filters),
    activation(images, filters, extent(height), extent(width))
  ]
  const attributes = { stride: [stride, stride], padding: [padding, padding], groups, relu: relu ? 1 : 0 }
  return convolutionPasses({ x, w, b: bias ? b : null, y }, attributes)
}

/** The blocks of the kernels that this processor runs; empty where they have none of these. */
export const BLOCKED =
  ['nChw16c', 'nChw8c'].find((layout) => runByOurs(passes({ channels: 32, filters: 32, width: 4 }), layout).length > 0) ?? ''

const { features, backends } = engine.describe()
export const hasTiles = features.includes('amx_bf16')

/** Without bfloat16 a test is skipped. */
export const needsBfloat16 = (context: Mocha.Context): void => {
  if (!backends.some(({ name, precisions }) => name === 'cpu' && precisions.includes('bf16')))
    skip(context, 'this processor has no bfloat16')
}
