import * as fc from 'fast-check'
import { loadOperators } from '../../../src/model/composed.js'
import {
  avgPool2d,
  batchNorm2d,
  composed,
  concat,
  conv2d,
  defineModel,
  dropout,
  flatten,
  gelu,
  globalAvgPool,
  groupNorm,
  hardSigmoid,
  hardSwish,
  linear,
  localResponseNorm,
  maxPool2d,
  multiply,
  relu,
  relu6,
  residual,
  silu,
  stochasticDepth,
  upsample2d
} from '../../../src/model/layers.js'
import type { Layer } from '../../../src/model/layer.js'
import type { Model } from '../../../src/model/model.js'

/** A layer, or a block of two branches. */
type Part = Leaf | Block

interface Leaf {
  readonly leaf: number
  readonly filters: number
}

interface Block {
  readonly joins: 'sum' | 'product' | 'channels' | 'concat'
  readonly body: readonly Part[]
  readonly other: readonly Part[]
  readonly flag: boolean
}

const LEAVES = 23

const { parts } = fc.letrec<{ readonly part: Part; readonly parts: Part[] }>((tie) => ({
  part: fc.oneof(
    { maxDepth: 3 },
    { arbitrary: fc.record({ leaf: fc.integer({ min: 0, max: LEAVES - 1 }), filters: fc.integer({ min: 1, max: 4 }) }), weight: 3 },
    {
      arbitrary: fc.record({
        joins: fc.constantFrom<Block['joins'][]>('sum', 'product', 'channels', 'concat'),
        body: fc.array(tie('part'), { minLength: 1, maxLength: 3 }),
        other: fc.array(tie('part'), { maxLength: 2 }),
        flag: fc.boolean()
      }),
      weight: 2
    }
  ),
  parts: fc.array(tie('part'), { minLength: 1, maxLength: 4 })
}))

/** Small valid models of images, whose sums, products and concatenations stand within one another: branches that are empty, alike, dropped or composed. */
export function randomNestedModel(): fc.Arbitrary<Model> {
  const recipe = fc.record({ parts, channels: fc.integer({ min: 1, max: 4 }), pools: fc.boolean(), width: fc.integer({ min: 3, max: 5 }) })
  return recipe.map(({ parts: given, channels, pools, width }) => {
    const { layers } = sequence(given, channels)
    const end = [pools ? globalAvgPool() : flatten(), linear(3)]
    return defineModel({ name: 'nested', input: [channels, 4, width], layers: [...layers, ...end] })
  })
}

interface Sequence {
  readonly layers: readonly Layer[]
  /** Of its output. */
  readonly channels: number
}

function sequence(given: readonly Part[], input: number): Sequence {
  let channels = input
  const layers = given.flatMap((part) => {
    const made = 'leaf' in part ? leafOf(part, channels) : blockOf(part, channels)
    channels = made.channels
    return made.layers
  })
  return { layers, channels }
}

const norm = (): Layer => batchNorm2d({ epsilon: 0.01 })

function leafOf({ leaf, filters }: Leaf, channels: number): Sequence {
  const same: readonly (readonly Layer[])[] = [
    [conv2d(channels, 3, { padding: 1, groups: channels, bias: false })],
    [norm()],
    [norm(), relu()],
    [norm(), relu6()],
    [groupNorm(1, { epsilon: 0.01 })],
    [groupNorm(channels, { epsilon: 0.01 }), relu6()],
    [conv2d(channels, 3, { padding: 2, dilation: 2 })],
    [upsample2d(2), avgPool2d(2)],
    [relu()],
    [relu6()],
    [hardSwish()],
    [hardSigmoid()],
    [silu()],
    [gelu()],
    [dropout(0.25)],
    [stochasticDepth(0.5)],
    [maxPool2d(3, { stride: 1, padding: 1 })],
    [avgPool2d(3, { stride: 1, padding: 1 })],
    [localResponseNorm(3, { alpha: 0.5, beta: 0.75, k: 1.5 })],
    [gated]
  ]
  const other: readonly (readonly Layer[])[] = [
    [conv2d(filters, 3, { padding: 1 })],
    [conv2d(filters, 1, { bias: false }), norm()],
    [conv2d(filters, 1), relu()]
  ]
  return leaf < same.length ? { layers: same[leaf]!, channels } : { layers: other[leaf - same.length]!, channels: filters }
}

function blockOf({ joins, body: bodyParts, other: otherParts, flag }: Block, input: number): Sequence {
  const body = sequence(bodyParts, input)
  const other = sequence(otherParts, input)
  if (joins === 'concat') {
    const together = concat([body.layers, other.layers, ...(flag ? [[]] : [])])
    return { layers: [together, conv2d(2, 1)], channels: 2 }
  }
  if (joins === 'channels') {
    const numbers = [
      ...body.layers,
      globalAvgPool({ keepAxes: flag }),
      flag ? conv2d(other.channels, 1) : linear(other.channels),
      hardSigmoid()
    ]
    const scaled = flag && other.layers.length > 0 ? { body: other.layers, shortcut: numbers } : { body: numbers, shortcut: other.layers }
    return { layers: [multiply(scaled)], channels: other.channels }
  }
  const shortcut = other.channels === body.channels ? other.layers : [...other.layers, conv2d(body.channels, 1, { bias: false }), norm()]
  const made = { body: body.layers, shortcut }
  return { layers: [joins === 'sum' ? residual({ ...made, relu: flag }) : multiply(made)], channels: body.channels }
}

const gated = composed(new URL('../../fakes/operators/gated.js', import.meta.url))
await loadOperators(defineModel({ name: 'gated', input: [1, 2, 2], layers: [gated] }))
