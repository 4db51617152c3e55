import { invalidOption } from '../../errors.js'
import { check } from '../../schema/faults.js'
import { group, option, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { oneOf, whole } from '../../schema/values.js'
import { batchNorm2d, conv2d, defineModel, globalAvgPool, groupNorm, linear, relu, residual, subsamplePad } from '../layers.js'
import type { Layer } from '../layer.js'
import type { Model } from '../model.js'
import { checkedShape, COMMON, type ZooFamily, type ZooShape } from './family.js'

/**
 * - `A`: the identity, subsampled and padded with zero channels where the shape changes; no parameters.
 * - `B`: a 1x1 convolution with batch norm where the shape changes.
 */
export type Shortcut = 'A' | 'B'

const resnetOptions = group({
  /** Layers; 20 if omitted. */
  depth: option(whole(), { default: 20 }),
  /** What a block adds where the shape changes; `A` if omitted. */
  shortcut: option(oneOf(['A', 'B']), { default: 'A' }),
  /** `group`: eight groups of channels, each normalised by itself, in the place of every batch norm; `batch` if omitted. */
  norm: option(oneOf(['batch', 'group']), { default: 'batch' })
})

/** Which of the CIFAR ResNets. */
export interface ResnetOptions extends GivenOptions<typeof resnetOptions>, ToldByName {}

/**
 * The CIFAR ResNets of 6n+2 layers (He et al., CVPR 2016, section 4.2): a 3x3 convolution, three stages of n blocks with 16, 32
 * and 64 filters, global average pooling and a linear layer. Convolutions start from He's normal distribution with fan-out. With group norms (Wu
 * and He, ECCV 2018) a sample's output does not depend on the others of its batch.
 */
export function resnet(shape: ZooShape, options: ResnetOptions = {}): Model {
  const { input, classes } = checkedShape(shape)
  const { depth, shortcut, norm: kind } = check(resnetOptions, options)
  const blocks = (depth - 2) / 6
  if (!Number.isInteger(blocks) || blocks < 1) throw invalidOption('depth', depth, 'use 6n+2 layers: 20, 32, 44, 56, 110')
  const norm = normOf(kind, 8)
  const stages = [16, 32, 64].flatMap((filters, stage) =>
    Array.from({ length: blocks }, (_, i) => block(`layer${stage + 1}.${i}`, filters, stage > 0 && i === 0, shortcut, norm))
  )
  return defineModel({
    name: `resnet${depth}${kind === 'group' ? '_gn' : ''}`,
    input,
    layers: [conv3x3(16, 1, 'conv1'), norm({ name: 'bn1' }), relu(), ...stages, globalAvgPool(), linear(classes, { name: 'fc' })]
  })
}

function block(name: string, filters: number, halves: boolean, shortcut: Shortcut, norm: Norm): Layer {
  return residual({
    name,
    body: [conv3x3(filters, halves ? 2 : 1, 'conv1'), norm({ name: 'bn1' }), relu(), conv3x3(filters, 1, 'conv2'), norm({ name: 'bn2' })],
    shortcut: halves ? shortcuts[shortcut](filters, norm) : []
  })
}

export type NormKind = 'batch' | 'group'

/** Makes the norms of a ResNet. */
export type Norm = (options: { readonly name: string; readonly gamma?: number }) => Layer

/** `groups` is the number of groups of a group norm. */
export function normOf(kind: NormKind, groups: number): Norm {
  return kind === 'batch' ? batchNorm2d : (options) => groupNorm(groups, options)
}

const shortcuts: Readonly<Record<Shortcut, (filters: number, norm: Norm) => Layer[]>> = {
  A: (filters) => [subsamplePad(2, filters / 4, filters / 4)],
  B: (filters, norm) => [conv2d(filters, 1, { stride: 2, bias: false, initialiser: 'heNormal', name: '0' }), norm({ name: '1' })]
}

function conv3x3(filters: number, stride: number, name: string): Layer {
  return conv2d(filters, 3, { stride, padding: 1, bias: false, initialiser: 'heNormal', name })
}

const ofDepth = (depth: number) => [`resnet${depth}`, (shape: ZooShape) => resnet(shape, { depth })] as const

export const resnetFamily: ZooFamily = {
  models: {
    ...Object.fromEntries([20, 32, 44, 56, 110].map(ofDepth)),
    resnet20_gn: (shape) => resnet(shape, { depth: 20, norm: 'group' })
  },
  // Any depth of 6n+2 layers, as `resnet` names it.
  includes(name) {
    const depth = Number(/^resnet(\d+)(_gn)?$/.exec(name)?.[1])
    return depth >= 8 && depth % 6 === 2
  },
  usual: { input: [3, 32, 32], classes: 10 },
  // Once up and down takes them further than drops do, in as many epochs: docs/speed.md. The rate is from bench/results/tta.md.
  defaults: { ...COMMON, schedule: 'one-cycle', batch: 32, learningRate: 0.1, weightDecay: 5e-4, epochs: 30, milestones: [0.5, 0.8] }
}
