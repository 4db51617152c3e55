import { activation, position, wide, type Port } from './operator-case.js'
import type { Use } from './operator-table.js'

type Pair = readonly [number, number]

/** Rows or columns of a sliding window's output. */
const extent = (input: number, kernel: number, stride: number, padding: number): number =>
  Math.floor((input + 2 * padding - kernel) / stride) + 1

interface Convolution {
  readonly image: readonly [n: number, c: number, h: number, w: number]
  readonly filters: number
  readonly kernel: Pair
  readonly stride?: Pair
  readonly padding?: Pair
  readonly dilation?: Pair
  readonly groups?: number
}

function convolution({ image, filters, kernel, stride = [1, 1], padding = [0, 0], dilation = [1, 1], groups = 1 }: Convolution): Use[] {
  const [n, c, h, w] = image
  const [rows, columns] = [0, 1].map((axis) => dilation[axis]! * (kernel[axis]! - 1) + 1) as unknown as Pair
  const y = activation(n, filters, extent(h, rows, stride[0], padding[0]), extent(w, columns, stride[1], padding[1]))
  const dilated = Math.max(...dilation) > 1
  return [
    { bias: false, relu: 0 },
    { bias: true, relu: 0 },
    { bias: true, relu: 1 }
  ].map(({ bias, relu }) => ({
    name: `${image.join('x')} to ${filters}, ${kernel.join('x')} stride ${stride.join()} padding ${padding.join()}${dilated ? ` dilation ${dilation.join()}` : ''} groups ${groups}${bias ? ' with bias' : ''}${relu ? ' with relu' : ''}`,
    attributes: { stride, padding, ...(dilated && { dilation }), groups, relu },
    inputs: { x: activation(...image), w: wide(filters, c / groups, ...kernel), b: bias ? wide(filters) : null },
    outputs: { y }
  }))
}

/** Every shape with bias or without, in turn, and every third with relu too; the whole table has all three of each. */
const inTurn = (shapes: readonly Use[][]): Use[] =>
  shapes.flatMap(([plain, biased, relu], i) => [
    { ...plain!, seldom: i % 2 === 0 },
    { ...biased!, seldom: i % 2 === 1 },
    { ...relu!, seldom: i % 3 !== 0 }
  ])

/** Odd shapes first, then every network's own, then channel counts around the widths of vector registers. */
export const convolutionCases: readonly Use[] = inTurn([
  convolution({ image: [1, 1, 1, 1], filters: 1, kernel: [1, 1] }),
  convolution({ image: [1, 1, 5, 5], filters: 1, kernel: [3, 3] }),
  convolution({ image: [2, 7, 6, 5], filters: 13, kernel: [3, 2], stride: [2, 1], padding: [1, 0] }),
  convolution({ image: [1, 4, 2, 2], filters: 6, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [3, 5, 7, 7], filters: 9, kernel: [3, 3], padding: [2, 2] }),
  convolution({ image: [2, 33, 1, 1], filters: 17, kernel: [1, 1] }),
  convolution({ image: [1, 2, 9, 4], filters: 3, kernel: [5, 1], stride: [3, 2], padding: [2, 0] }),
  // Steps over more columns than there are: taps that meet nothing but padding, and taps that all meet the image.
  convolution({ image: [2, 16, 4, 1], filters: 16, kernel: [3, 3], stride: [2, 2], padding: [1, 1] }),
  convolution({ image: [2, 64, 9, 2], filters: 48, kernel: [3, 3], stride: [3, 4], padding: [1, 1], groups: 2 }),
  convolution({ image: [2, 3, 4, 2], filters: 16, kernel: [2, 2], stride: [1, 3] }),
  convolution({ image: [2, 1, 28, 28], filters: 20, kernel: [5, 5] }),
  convolution({ image: [2, 20, 12, 12], filters: 50, kernel: [5, 5] }),
  convolution({ image: [2, 3, 8, 8], filters: 16, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [2, 16, 8, 8], filters: 16, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [2, 16, 8, 8], filters: 32, kernel: [3, 3], stride: [2, 2], padding: [1, 1] }),
  convolution({ image: [2, 16, 8, 8], filters: 32, kernel: [1, 1], stride: [2, 2] }),
  // Strides that leave no pixel over, and channels that fill no vector.
  ...[1, 7, 12].map((channels) => convolution({ image: [2, channels, 8, 18], filters: 3, kernel: [1, 1], stride: [2, 2] })),
  ...[6, 10].map((channels) => convolution({ image: [1, channels, 4, 9], filters: 32, kernel: [1, 1], stride: [2, 1] })),
  convolution({ image: [1, 64, 4, 4], filters: 64, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [2, 8, 6, 6], filters: 16, kernel: [3, 3], padding: [1, 1], groups: 2 }),
  convolution({ image: [2, 6, 5, 5], filters: 9, kernel: [3, 3], groups: 3 }),
  convolution({ image: [1, 32, 6, 6], filters: 64, kernel: [3, 3], padding: [1, 1], groups: 4 }),
  convolution({ image: [2, 16, 5, 5], filters: 16, kernel: [3, 3], padding: [1, 1], groups: 16 }),
  convolution({ image: [1, 21, 9, 9], filters: 42, kernel: [3, 3], stride: [2, 2], padding: [1, 1], groups: 21 }),
  ...[2, 8, 15, 17, 24, 31, 48, 70].map((channels) =>
    convolution({ image: [2, channels, 5, 6], filters: channels + 1, kernel: [3, 3], padding: [1, 1] })
  ),
  // An odd number of filters, of as many pixels as registers hold.
  convolution({ image: [1, 16, 2, 15], filters: 3, kernel: [1, 1] })
])

/** Shapes of which our own kernels take those without dilation, and odd ones. */
export const dilatedCases: readonly Use[] = inTurn([
  convolution({ image: [2, 16, 9, 9], filters: 16, kernel: [3, 3], padding: [2, 2], dilation: [2, 2] }),
  convolution({ image: [1, 32, 8, 7], filters: 48, kernel: [3, 3], padding: [4, 1], dilation: [4, 1] }),
  convolution({ image: [2, 32, 9, 9], filters: 32, kernel: [3, 3], stride: [2, 2], padding: [2, 2], dilation: [2, 2] }),
  convolution({ image: [2, 32, 7, 9], filters: 32, kernel: [3, 3], padding: [3, 3], dilation: [3, 3], groups: 32 }),
  convolution({ image: [2, 32, 6, 6], filters: 32, kernel: [3, 3], padding: [2, 2], dilation: [2, 2], groups: 4 }),
  convolution({ image: [2, 3, 11, 6], filters: 5, kernel: [3, 2], stride: [2, 1], padding: [1, 0], dilation: [3, 4] }),
  convolution({ image: [3, 5, 5, 5], filters: 7, kernel: [3, 3], dilation: [2, 2] }),
  convolution({ image: [2, 16, 4, 4], filters: 32, kernel: [1, 1], dilation: [2, 2] }),
  // Rows of several pieces, and channels that fill no vector.
  convolution({ image: [1, 20, 5, 30], filters: 16, kernel: [3, 3], padding: [2, 2], dilation: [2, 2] }),
  convolution({ image: [1, 16, 5, 30], filters: 32, kernel: [3, 3], padding: [2, 2], dilation: [2, 2], groups: 2 })
])

/** A filter of 3x3 for each channel, if nothing else is said. */
const depthwise = (image: Convolution['image'], stride: Pair, rest: Partial<Convolution> = {}): Use[] =>
  convolution({ image, filters: image[1], kernel: [3, 3], groups: image[1], padding: [1, 1], stride, ...rest })

/** The same with a filter of another side, whose images have room for one. */
const wider = (image: Convolution['image'], stride: Pair, side: number, padding: Pair): Use[] =>
  depthwise(image, stride, { kernel: [side, side], padding })

/** Filters of 3x3 for groups of `width` channels. */
const grouped = (image: Convolution['image'], stride: Pair, width: number, padding: Pair = [1, 1]): Use[] =>
  depthwise(image, stride, { groups: image[1] / width, padding })

/** What the kernels for groups of few channels take, by stride, padding and edge, around the pieces of a row that they compute at once; then what they leave. */
export const narrowGroupCases: readonly Use[] = inTurn([
  ...[1, 2].flatMap((each) => {
    const stride: Pair = [each, each]
    return [
      // Images that are all edge, and rows of one piece, of two, and of pieces that differ.
      ...[1, 2, 3, 4, 7, 8, 9, 15, 17].map((side) => depthwise([2, 16, side, side], stride)),
      ...[0, 1, 2].map((rows) => depthwise([1, 32, 5, 11], stride, { padding: [rows, 2 - rows] })),
      ...[15, 21, 40, 48].map((channels) => depthwise([3, channels, 6, 5], stride)),
      // Several chunks of images, the last one smaller.
      depthwise([9, 16, 16, 20], stride),
      // Groups of four and of eight channels, which fill registers or do not: images that are all edge, and rows of several pieces.
      ...[4, 8].flatMap((width) => [
        ...[1, 2, 5, 17].map((pixels) => grouped([2, 16, pixels, pixels], stride, width)),
        grouped([1, 40, 6, 21], stride, width, [2, 0]),
        grouped([9, 24, 12, 10], stride, width)
      ]),
      // Larger filters: images smaller than a filter, padding that differs and is as much as there may be, and rows of several pieces.
      ...[5, 7].flatMap((side) => [
        ...[1, 3, 6, 17].map((pixels) => wider([2, 16, pixels, pixels], stride, side, [(side - 1) / 2, (side - 1) / 2])),
        wider([1, 37, 6, 21], stride, side, [side - 1, 0]),
        wider([9, 21, 12, 10], stride, side, [1, side - 2])
      ])
    ]
  }),
  depthwise([1, 16, 6, 7], [2, 1]),
  depthwise([1, 16, 7, 7], [3, 3]),
  depthwise([1, 16, 5, 5], [1, 1], { padding: [3, 3] }),
  depthwise([1, 16, 9, 9], [1, 1], { kernel: [9, 9], padding: [4, 4] }),
  depthwise([1, 16, 7, 7], [1, 1], { kernel: [3, 1], padding: [1, 0] }),
  depthwise([1, 16, 7, 7], [1, 1], { kernel: [5, 3], padding: [2, 1] }),
  depthwise([1, 16, 7, 7], [1, 1], { filters: 32 })
])

/** What the gradients for filters that do not fill blocks take: strides, and rows and columns around their tiles; then what they leave. */
export const unfilledCases: readonly Use[] = inTurn([
  convolution({ image: [3, 3, 13, 11], filters: 30, kernel: [3, 4], stride: [2, 1] }),
  convolution({ image: [2, 21, 7, 9], filters: 6, kernel: [1, 1] }),
  convolution({ image: [2, 9, 8, 13], filters: 31, kernel: [3, 2], stride: [1, 2] }),
  convolution({ image: [1, 1, 7, 7], filters: 7, kernel: [4, 4] }),
  convolution({ image: [5, 2, 10, 9], filters: 70, kernel: [2, 5] }),
  convolution({ image: [1, 17, 4, 16], filters: 22, kernel: [1, 3], stride: [1, 3] }),
  convolution({ image: [2, 4, 6, 6], filters: 20, kernel: [4, 3] }),
  convolution({ image: [2, 4, 8, 8], filters: 9, kernel: [3, 3] })
])

/** What the kernels over planes take: one register of outputs, an odd number and many; rows of one and of two pieces; more taps in a row than are summed at once, and one. */
export const planeCases: readonly Use[] = inTurn([
  convolution({ image: [2, 5, 4, 10], filters: 9, kernel: [3, 3] }),
  convolution({ image: [1, 4, 6, 8], filters: 13, kernel: [1, 1] }),
  convolution({ image: [3, 3, 14, 22], filters: 7, kernel: [7, 7] }),
  convolution({ image: [2, 2, 9, 26], filters: 21, kernel: [4, 3] }),
  convolution({ image: [3, 1, 9, 11], filters: 5, kernel: [2, 4] })
])

/**
 * What the CUDA kernels by tiles take: every pair of their channel counts, tiles that an image does not fill, pixels that fill no group of 16, more tiles
 * than a cluster has under way, strides; then what they leave.
 */
export const tileCases: readonly Use[] = inTurn([
  ...[16, 32, 64].flatMap((channels) =>
    [16, 32, 64].map((filters) => convolution({ image: [2, channels, 5, 7], filters, kernel: [3, 3], padding: [1, 1] }))
  ),
  convolution({ image: [3, 16, 32, 32], filters: 16, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [40, 16, 6, 31], filters: 16, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [1, 16, 13, 64], filters: 32, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [5, 32, 16, 16], filters: 32, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [1, 64, 16, 16], filters: 64, kernel: [3, 3], padding: [1, 1] }),
  ...[
    [2, 16, 32, 32],
    [3, 32, 17, 31],
    [1, 64, 16, 16],
    [2, 16, 1, 2]
  ].map(([n, c, h, w]) => convolution({ image: [n!, c!, h!, w!], filters: 64, kernel: [3, 3], padding: [1, 1], stride: [2, 2] })),
  convolution({ image: [1, 16, 33, 32], filters: 16, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [1, 32, 2, 33], filters: 16, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [1, 16, 6, 6], filters: 48, kernel: [3, 3], padding: [1, 1] })
])

/** What the kernels for filters of 3x3 take: rows around the pieces that are computed at once, planes of several shares, images that are multiplied together and one that is left; images that are paired, few and many, odd and even; then what they leave. */
export const wideCases: readonly Use[] = inTurn([
  ...[7, 8, 9, 11, 12, 13, 16, 17, 25, 33].map((width) =>
    convolution({ image: [2, 16, 4, width], filters: 32, kernel: [3, 3], padding: [1, 1] })
  ),
  convolution({ image: [1, 48, 2, 8], filters: 16, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [2, 32, 3, 14], filters: 48, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [1, 16, 41, 28], filters: 16, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [3, 16, 16, 30], filters: 32, kernel: [3, 3], padding: [1, 1] }),
  ...(
    [
      [1, 2, 2],
      [2, 3, 2],
      [3, 2, 5],
      [7, 4, 4],
      [32, 7, 7],
      [33, 5, 6]
    ] as const
  ).map(([n, h, w]) => convolution({ image: [n, 16, h, w], filters: 48, kernel: [3, 3], padding: [1, 1] })),
  convolution({ image: [1, 8, 9, 16], filters: 24, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [1, 16, 1, 16], filters: 16, kernel: [3, 3], padding: [1, 1] }),
  convolution({ image: [1, 16, 9, 16], filters: 16, kernel: [3, 3], padding: [1, 0] }),
  convolution({ image: [1, 16, 9, 16], filters: 16, kernel: [3, 3], padding: [1, 1], stride: [2, 1] })
])

/** What the kernel for weights of 1x1 takes: one block of channels and groups of blocks, blocks that are not full, one pixel, pixels that pair across images, several chunks of pixels, the last of an odd number; strides; then what it leaves. */
export const pointwiseCases: readonly Use[] = inTurn([
  convolution({ image: [1, 16, 1, 1], filters: 32, kernel: [1, 1] }),
  convolution({ image: [3, 32, 1, 1], filters: 16, kernel: [1, 1] }),
  convolution({ image: [2, 32, 7, 7], filters: 48, kernel: [1, 1] }),
  convolution({ image: [3, 48, 5, 3], filters: 112, kernel: [1, 1] }),
  convolution({ image: [5, 16, 9, 9], filters: 64, kernel: [1, 1] }),
  convolution({ image: [3, 16, 9, 11], filters: 80, kernel: [1, 1], stride: [2, 2] }),
  convolution({ image: [1, 32, 30, 27], filters: 16, kernel: [1, 1], stride: [2, 1] }),
  convolution({ image: [1, 16, 40, 21], filters: 32, kernel: [1, 1] }),
  convolution({ image: [2, 37, 5, 5], filters: 24, kernel: [1, 1] }),
  convolution({ image: [2, 3, 21, 23], filters: 17, kernel: [1, 1] }),
  convolution({ image: [2, 16, 5, 5], filters: 16, kernel: [1, 1], padding: [1, 0] }),
  convolution({ image: [2, 32, 5, 5], filters: 32, kernel: [1, 1], groups: 2 })
])

/** What the kernels for small images take: every side, one image, as many as are computed at once, and more than are summed in the nearest cache. */
export const smallImageCases: readonly Use[] = inTurn(
  (
    [
      [1, 2],
      [2, 2],
      [5, 2],
      [37, 2],
      [1, 3],
      [5, 3],
      [15, 3],
      [1, 4],
      [11, 4]
    ] as const
  ).map(([n, side]) => convolution({ image: [n, 32, side, side], filters: 48, kernel: [3, 3], padding: [1, 1] }))
)

interface Pooling {
  readonly image: readonly [n: number, c: number, h: number, w: number]
  readonly kernel: Pair
  readonly stride: Pair
  readonly padding?: Pair
}

const poolings: readonly Pooling[] = [
  { image: [1, 1, 2, 2], kernel: [2, 2], stride: [2, 2] },
  { image: [2, 20, 24, 24], kernel: [2, 2], stride: [2, 2] },
  { image: [1, 3, 7, 9], kernel: [2, 2], stride: [2, 2] },
  { image: [2, 3, 9, 37], kernel: [2, 2], stride: [2, 2] },
  { image: [2, 3, 9, 17], kernel: [2, 2], stride: [2, 2] },
  { image: [1, 5, 8, 8], kernel: [2, 2], stride: [2, 2] },
  { image: [2, 17, 8, 8], kernel: [3, 3], stride: [2, 2], padding: [1, 1] },
  { image: [3, 8, 6, 5], kernel: [3, 2], stride: [1, 2], padding: [1, 1] },
  { image: [1, 70, 5, 5], kernel: [3, 3], stride: [1, 1] },
  { image: [2, 33, 4, 4], kernel: [4, 4], stride: [4, 4] },
  { image: [1, 2, 16, 16], kernel: [15, 15], stride: [1, 1], padding: [7, 7] },
  { image: [2, 5, 9, 9], kernel: [2, 2], stride: [3, 3] }
]

function pooling({ image, kernel, stride, padding = [0, 0] }: Pooling, name: string, x: Port, marks: boolean): Use {
  const [n, c, h, w] = image
  const shape = [n, c, extent(h, kernel[0], stride[0], padding[0]), extent(w, kernel[1], stride[1], padding[1])]
  return {
    name: `${image.join('x')} by ${kernel.join('x')} stride ${stride.join()} padding ${padding.join()}${name}`,
    attributes: { kernel, stride, padding },
    inputs: { x },
    outputs: { y: activation(...shape), ...(marks ? { position: position(...shape) } : {}) }
  }
}

/** With distinct values, and with many equal ones, of which the first must win. */
export const maximumCases: readonly Use[] = poolings.flatMap((each) => [
  pooling(each, '', activation(...each.image), true),
  pooling(each, ' with ties', { ...activation(...each.image), draw: (u) => Math.floor(u * 3) - 1 }, true)
])

export const averageCases: readonly Use[] = poolings.map((each) => pooling(each, '', activation(...each.image), false))
