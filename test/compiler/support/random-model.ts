import * as fc from 'fast-check'
import { activations } from '../../support/activations.js'
import {
  avgPool2d,
  batchNorm2d,
  concat,
  conv2d,
  convTranspose2d,
  defineModel,
  dropout,
  flatten,
  gelu,
  globalAvgPool,
  groupNorm,
  layerNorm2d,
  layerScale,
  leakyRelu,
  linear,
  localResponseNorm,
  maxPool2d,
  multiply,
  relu,
  residual,
  sigmoid,
  stochasticDepth,
  subsamplePad,
  tanh,
  upsample2d
} from '../../../src/model/layers.js'
import type { Layer } from '../../../src/model/layer.js'
import type { Model } from '../../../src/model/model.js'
import { classWeights } from '../../engine/support/operator-case.js'

/** Which operators a random model may have. */
export interface RandomModelOptions {
  readonly dropout?: boolean
  /** Largest height and width. */
  readonly extent?: number
  readonly layers?: number
}

/** Small valid models of every layer, residual blocks nested, with any loss; every one has a parameter. */
export function randomModel({ dropout: drops = true, extent = 9, layers = 7 }: RandomModelOptions = {}): fc.Arbitrary<Model> {
  const recipe = fc.record({
    input: fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 4, max: extent }), fc.integer({ min: 4, max: extent })),
    picks: fc.array(pick, { minLength: 0, maxLength: layers }),
    ending: fc.record({
      pools: fc.boolean(),
      hidden: fc.boolean(),
      classes: fc.integer({ min: 2, max: 5 }),
      loss: fc.constantFrom(...LOSSES)
    })
  })
  return recipe.map(({ input, picks, ending }) => {
    const images = imageLayers(picks, input, drops)
    const end: Layer[] = [
      ending.pools ? globalAvgPool() : flatten(),
      ...(ending.hidden ? [linear(6), relu(), ...(drops ? [dropout(0.25)] : [])] : []),
      linear(ending.classes, { bias: !ending.pools })
    ]
    return defineModel({ name: 'random', input, layers: [...images, ...end], ...ending.loss(ending.classes) })
  })
}

/** By the number of classes. */
const LOSSES: readonly ((classes: number) => Partial<Model>)[] = [
  () => ({ loss: 'softmaxCrossEntropy' }),
  () => ({ loss: 'softmaxCrossEntropy', labelSmoothing: 0.2 }),
  (classes) => ({ loss: 'softmaxCrossEntropy', labelSmoothing: 0.1, classWeights: classWeights(classes) }),
  () => ({ loss: 'binaryCrossEntropy' }),
  (labels) => ({ loss: 'binaryCrossEntropy', positiveWeights: classWeights(labels) }),
  () => ({ loss: 'meanSquaredError' })
]

const others = activations.filter(({ kind }) => !['relu', 'leakyRelu', 'gelu'].includes(kind))

/** Of all but ReLU, whose gradients finite differences find: a kink is seldom so near. */
const activation = (choice: number, flag: boolean): Layer =>
  [...others, gelu({ approximate: flag ? 'tanh' : 'none' }), leakyRelu({ slope: 0.1 })][choice % (others.length + 2)]!

interface Pick {
  readonly kind: number
  readonly channels: number
  readonly kernel: number
  readonly flag: boolean
  readonly stride: number
}

const pick: fc.Arbitrary<Pick> = fc.record({
  kind: fc.integer({ min: 0, max: 21 }),
  channels: fc.integer({ min: 1, max: 5 }),
  kernel: fc.integer({ min: 1, max: 3 }),
  flag: fc.boolean(),
  stride: fc.integer({ min: 1, max: 2 })
})

/** The largest divisor of a number of channels up to `most`. */
const divisor = (channels: number, most: number): number => {
  let found = 1
  for (let groups = 2; groups <= most; groups++) if (channels % groups === 0) found = groups
  return found
}

type Sample = readonly [number, number, number]

/** Layers after the wishes of `picks`; a wish that the shape does not allow is passed over. */
function imageLayers(picks: readonly Pick[], input: Sample, drops: boolean): Layer[] {
  const layers: Layer[] = []
  let [channels, height, width] = input
  for (const { kind, channels: filters, kernel, flag, stride } of picks) {
    const pooled = (extent: number, padding: number): number => Math.floor((extent + 2 * padding - kernel) / stride) + 1
    const padding = flag ? Math.floor(kernel / 2) : 0
    const [rows, columns] = [pooled(height, padding), pooled(width, padding)]
    const shrink = (layer: Layer, to: number): void => {
      if (rows < 2 || columns < 2) return
      layers.push(layer)
      ;[channels, height, width] = [to, rows, columns]
    }
    if (kind === 0) shrink(conv2d(filters, kernel, { stride, padding, bias: flag }), filters)
    else if (kind === 1) shrink(conv2d(channels, kernel, { stride, padding, groups: channels }), channels)
    else if (kind === 19) layers.push(conv2d(channels, 3, { padding: [stride, 2], dilation: [stride, 2], bias: flag }))
    else if (kind === 2) layers.push(batchNorm2d({ epsilon: 0.01 }), ...(flag ? [relu()] : []))
    else if (kind === 3) layers.push(relu())
    else if (kind === 4) shrink(maxPool2d(kernel, { stride, padding }), channels)
    else if (kind === 5) shrink(avgPool2d(kernel, { stride, padding }), channels)
    else if (kind === 6) layers.push(residual({ body: [conv2d(channels, 3, { padding: 1 }), batchNorm2d({ epsilon: 0.01 })], relu: flag }))
    else if (kind === 7) {
      layers.push(
        residual({
          body: [conv2d(filters, 1), relu(), residual({ body: [batchNorm2d({ epsilon: 0.01 })], relu: flag })],
          shortcut: [conv2d(filters, 1, { bias: false }), ...(flag ? [batchNorm2d({ epsilon: 0.01 })] : [])]
        })
      )
      channels = filters
    } else if (kind === 8 && Math.min(height, width) >= 4) {
      layers.push(
        residual({
          body: [conv2d(channels + 2, 3, { stride: 2, padding: 1 }), batchNorm2d({ epsilon: 0.01 })],
          shortcut: [subsamplePad(2, 1, 1)],
          relu: flag
        })
      )
      ;[channels, height, width] = [channels + 2, Math.ceil(height / 2), Math.ceil(width / 2)]
    } else if (kind === 9 && drops) layers.push(flag ? dropout(0.5) : stochasticDepth(0.5))
    else if (kind === 10 || kind === 11) layers.push(activation(5 * kernel + filters, flag))
    else if (kind === 12) layers.push(localResponseNorm(kernel + stride, { alpha: 0.5, beta: 0.75, k: 1.5 }))
    else if (kind === 13) layers.push(multiply({ body: [conv2d(channels, 1), sigmoid()], ...(flag && { shortcut: [tanh()] }) }))
    else if (kind === 14 && channels <= 8) {
      layers.push(concat([[conv2d(filters, 1)], ...(flag ? [[relu()]] : []), []]))
      channels += filters + (flag ? channels : 0)
    } else if (kind === 15) {
      const excited = flag ? [linear(channels), sigmoid()] : [conv2d(filters, 1), tanh(), conv2d(channels, 1), sigmoid()]
      layers.push(multiply({ body: [globalAvgPool({ keepAxes: !flag }), ...excited] }))
    } else if (kind === 16) {
      const groups = flag ? 1 : divisor(channels, filters)
      layers.push(groupNorm(groups, { epsilon: 0.01 }), ...(stride === 2 ? [relu()] : []))
    } else if (kind === 17) {
      layers.push(residual({ body: [conv2d(channels, 3, { padding: 1 }), groupNorm(1, { epsilon: 0.01 })], relu: flag }))
    } else if (kind === 18 && height * width <= 64) {
      const small = [maxPool2d(1, { stride: 2 }), conv2d(filters, 1), upsample2d(2)]
      // The level of a U-Net where the image can be halved, otherwise a larger image.
      const even = height % 2 === 0 && width % 2 === 0
      layers.push(even ? concat([[], small]) : upsample2d([stride, 1]))
      if (even) channels += filters
      else height *= stride
    } else if (kind === 20 && height * width <= 64) {
      const groups = flag ? divisor(channels, filters) : 1
      const outputPadding = flag ? stride - 1 : 0
      layers.push(convTranspose2d(filters * groups, [kernel, 2], { stride, padding: [padding, 0], outputPadding, groups, bias: flag }))
      channels = filters * groups
      height = (height - 1) * stride - 2 * padding + kernel + outputPadding
      width = (width - 1) * stride + 2 + outputPadding
    } else if (kind === 21) {
      const scale = layerScale({ initial: 0.5, ...(flag && { parameter: `gamma${layers.length}` }) })
      layers.push(stride === 1 ? scale : layerNorm2d({ epsilon: 0.1 }))
    }
  }
  return layers
}
