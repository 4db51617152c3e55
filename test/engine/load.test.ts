import { expect } from 'chai'
import type { EngineBackend, Precision } from '../../src/compiler/program.js'
import type { DatasetSpec } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { testedBackends } from './support/backends.js'
import { BoundOperator } from './support/bound-operator.js'
import { deviations, expectNone } from './support/magnitudes.js'
import { activation, elements, generator, label as labelOf, type OperatorCase } from './support/operator-case.js'
import { loaded, mixOf, type LoadAttributes, type Samples } from './support/load-oracle.js'

const SEED = 11
const COUNT = 37
const PLAIN: LoadAttributes = { padding: 0, border: 0, flip: 0, shuffled: 0, mean: [], std: [] }

interface LoadCase {
  readonly name: string
  readonly sample: readonly number[]
  readonly bytes: boolean
  readonly attributes: LoadAttributes
}

const cases: readonly LoadCase[] = [
  { name: 'pixels as they are', sample: [1, 4, 5], bytes: true, attributes: PLAIN },
  { name: 'pixels normalised by one mean', sample: [3, 3, 2], bytes: true, attributes: { ...PLAIN, mean: [0.3], std: [0.2] } },
  {
    name: 'pixels cropped, flipped and normalised by channel',
    sample: [3, 8, 6],
    bytes: true,
    attributes: { padding: 2, border: 0, flip: 1, shuffled: 1, mean: [0.5, 0.4, 0.3], std: [0.2, 0.3, 0.4] }
  },
  { name: 'pixels cropped far', sample: [17, 3, 3], bytes: true, attributes: { ...PLAIN, padding: 4, shuffled: 1, mean: [0.5] } },
  { name: 'pixels flipped', sample: [2, 2, 9], bytes: true, attributes: { ...PLAIN, flip: 1 } },
  {
    name: 'pixels cropped from a reflected border, flipped and normalised',
    sample: [3, 8, 6],
    bytes: true,
    attributes: { padding: 5, border: 1, flip: 1, shuffled: 1, mean: [0.5, 0.4, 0.3], std: [0.2, 0.3, 0.4] }
  },
  {
    name: 'pixels cropped, flipped, normalised and cut out',
    sample: [3, 8, 6],
    bytes: true,
    attributes: { padding: 2, border: 0, flip: 1, cutout: 4, shuffled: 1, mean: [0.5, 0.4, 0.3], std: [0.2, 0.3, 0.4] }
  },
  { name: 'floats cut out', sample: [17, 5, 7], bytes: false, attributes: { ...PLAIN, cutout: 5, mean: [0.5] } },
  { name: 'pixels flipped in every other epoch', sample: [2, 3, 17], bytes: true, attributes: { ...PLAIN, flip: 2, shuffled: 1 } },
  {
    name: 'floats cropped from a reflected border',
    sample: [17, 4, 9],
    bytes: false,
    attributes: { ...PLAIN, padding: 3, border: 1, flip: 2 }
  },
  { name: 'sequences', sample: [4, 3], bytes: true, attributes: { ...PLAIN, shuffled: 1, mean: [0.4], std: [0.3] } },
  { name: 'features in another order', sample: [13], bytes: false, attributes: { ...PLAIN, shuffled: 1 } },
  {
    name: 'images of floats, normalised',
    sample: [2, 5, 3],
    bytes: false,
    attributes: { ...PLAIN, padding: 1, flip: 1, std: [3, 4] }
  }
]

const next = generator(5)
const labels = Int32Array.from({ length: COUNT }, () => Math.floor(next() * 9))
const targets = Float32Array.from({ length: COUNT * 3 }, () => next() - 0.5)

function samplesOf({ sample, bytes }: LoadCase): Samples {
  const length = COUNT * elements(sample)
  const samples = bytes ? Uint8Array.from({ length }, () => next() * 256) : Float32Array.from({ length }, () => 4 * next() - 2)
  return { count: COUNT, sample, samples }
}

/** The batch of `size` samples from a position on, as the oracle has it. */
function batchOf(data: Samples, attributes: LoadAttributes, position: number, size: number): { x: Float64Array; indices: Float64Array } {
  const batch = Array.from({ length: size }, (_, i) => loaded(data, attributes, SEED, position + i))
  return { x: Float64Array.from(batch.flatMap(({ x }) => x)), indices: Float64Array.from(batch, ({ index }) => index) }
}

const useOf = (each: LoadCase, size: number, target: OperatorCase['outputs'][string]): OperatorCase => ({
  kind: 'load',
  name: each.name,
  attributes: { ...each.attributes },
  inputs: {},
  outputs: { x: activation(size, ...each.sample), target }
})

interface Loading {
  readonly backend: EngineBackend
  readonly precision: Precision
  readonly layout?: string | null
}

/** Binds `load` to a data set of its own, and releases both after the work. */
function withDataset<R>(
  { backend, precision, layout = null }: Loading,
  use: OperatorCase,
  data: DatasetSpec,
  work: (bound: BoundOperator) => R
): R {
  const dataset = engine.createDataset(data)
  try {
    const bound = new BoundOperator(backend, precision, use, { layout, dataset, seed: SEED })
    try {
      return work(bound)
    } finally {
      bound.release()
    }
  } finally {
    engine.release(dataset)
  }
}

/** Runs `load` at a few positions, an epoch's end among them, and compares. */
function faultsOf(on: Loading, each: LoadCase, size: number, classes: boolean): string[] {
  const data = samplesOf(each)
  const use = useOf(each, size, classes ? labelOf(9, size) : activation(size, 3))
  const answers = classes ? { labels, classes: 9 } : { target: [3], targets }
  return withDataset(on, use, { ...data, ...answers }, (bound) =>
    [0, 1, COUNT - 2, 5 * COUNT + 3].flatMap((position) => {
      const { x, indices } = batchOf(data, each.attributes, position, size)
      const target = Float64Array.from(
        Array.from(indices).flatMap((i) => (classes ? [labels[i]!] : Array.from(targets.slice(3 * i, 3 * i + 3))))
      )
      const { outputs, faults } = bound.run({}, position)
      // A pixel's size, its mean's and its std's: of the order of 10 at most.
      const magnitudes = { x: x.map((value) => Math.abs(value) + 1), ...(classes ? {} : { target: target.map(Math.abs) }) }
      return [...deviations(use, outputs, { x, target }, magnitudes, on.precision === 'bf16' ? 1e-2 : 1e-6), ...faults]
    })
  )
}

/** Runs `load` of samples with several labels each, of which some are of no class, and compares: those of pixels are cropped, flipped and cut out as the pixels are. */
function labelFaultsOf(on: Loading, each: LoadCase, label: readonly number[]): string[] {
  const data = samplesOf(each)
  const all = Int32Array.from({ length: COUNT * elements(label) }, () => Math.floor(next() * 10) - 1)
  const use = useOf(each, 5, { ...labelOf(9, 5), shape: [5, elements(label)] })
  const moves = label.length === 2 && String(label) === String(each.sample.slice(1))
  // As an image in which the border is 0 and no class 1.
  const asImage: Samples = { count: COUNT, sample: [1, ...label], samples: Float32Array.from(all, (number) => number + 1) }
  const { padding, border, flip, cutout = 0 } = each.attributes
  return withDataset(on, use, { ...data, labels: all, label, classes: 9 }, (bound) =>
    [0, COUNT - 2, 5 * COUNT + 3].flatMap((position) => {
      const { x, indices } = batchOf(data, each.attributes, position, 5)
      const moved = Array.from({ length: 5 }, (_, i) =>
        loaded(asImage, { ...PLAIN, padding, border, flip, cutout, shuffled: each.attributes.shuffled }, SEED, position + i).x.map(
          (number) => number - 1
        )
      )
      const still = Array.from(indices, (i) => [...all.subarray(i * elements(label), (i + 1) * elements(label))])
      const target = Float64Array.from((moves ? moved : still).flat())
      const { outputs, faults } = bound.run({}, position)
      const magnitudes = { x: x.map((value) => Math.abs(value) + 1) }
      return [...deviations(use, outputs, { x, target }, magnitudes, on.precision === 'bf16' ? 1e-2 : 1e-6), ...faults]
    })
  )
}

const MIXTURES: readonly LoadCase[] = [
  { name: 'blended', sample: [3, 5, 4], bytes: true, attributes: { ...PLAIN, shuffled: 1, mixup: 0.4 } },
  { name: 'with rectangles of others', sample: [17, 8, 6], bytes: false, attributes: { ...PLAIN, cutmix: 1 } },
  {
    name: 'changed in every way',
    sample: [3, 8, 9],
    bytes: true,
    attributes: {
      padding: 2,
      border: 1,
      flip: 1,
      cutout: 3,
      mixup: 2,
      cutmix: 0.5,
      shuffled: 1,
      mean: [0.5, 0.4, 0.3],
      std: [0.2, 0.3, 0.4]
    }
  }
]

/** Runs `load` of images that are mixed, and compares: classes become shares of 10 classes, of which the data has 9; targets are mixed as they are. */
function mixtureFaultsOf(on: Loading, each: LoadCase, size: number, classes: boolean): string[] {
  const data = samplesOf(each)
  const wide = classes ? 10 : 3
  const use = useOf(each, size, activation(size, wide))
  const answers = classes ? { labels, classes: 9 } : { target: [3], targets }
  const [, height, width] = each.sample as [number, number, number]
  const targetOf = (index: number): number[] =>
    Array.from({ length: wide }, (_, k) => (classes ? Number(labels[index] === k) : targets[3 * index + k]!))
  return withDataset(on, use, { ...data, ...answers }, (bound) =>
    [0, COUNT - 2, 5 * COUNT + 3].flatMap((position) => {
      const alone = Array.from({ length: size }, (_, i) => loaded(data, each.attributes, SEED, position + i))
      const mixed = alone.map(({ x, index }, n) => {
        const partner = alone[size - 1 - n]!
        const { own, blends, takes } = mixOf(each.attributes, SEED, position + Math.min(n, size - 1 - n), height, width)
        const pixel = (value: number, i: number): number => {
          if (blends) return own * value + (1 - own) * partner.x[i]!
          return takes(Math.floor(i / width) % height, i % width) ? partner.x[i]! : value
        }
        const others = targetOf(partner.index)
        return { x: x.map(pixel), target: targetOf(index).map((value, k) => own * value + (1 - own) * others[k]!) }
      })
      const expected = {
        x: Float64Array.from(mixed.flatMap(({ x }) => x)),
        target: Float64Array.from(mixed.flatMap(({ target }) => target))
      }
      const { outputs, faults } = bound.run({}, position)
      const atMost = (values: Float64Array): Float64Array => values.map((value) => Math.abs(value) + 1)
      const magnitudes = { x: atMost(expected.x), target: atMost(expected.target) }
      return [...deviations(use, outputs, expected, magnitudes, on.precision === 'bf16' ? 1e-2 : 1e-5), ...faults]
    })
  )
}

describe('load', () => {
  for (const { name: backend, precisions } of testedBackends()) {
    for (const precision of backend === 'cpu' ? (['f32', 'bf16'] as const) : precisions) {
      if (!precisions.includes(precision)) {
        it.skip(`${backend} in ${precision}: not run, for this processor has no ${precision}`)
        continue
      }
      it(`${backend} in ${precision} gives the labels of all positions of a sample`, () => {
        const faults = cases.flatMap((each) => {
          const ofPixels = each.sample.length === 3 ? [each.sample.slice(1)] : []
          return [[3], [2, 2], ...ofPixels].flatMap((label) => labelFaultsOf({ backend, precision }, each, label))
        })
        expectNone(faults)
      })
      const layouts =
        backend === 'cpu' ? [null, 'plain', 'nhwc', 'nChw8c', 'nChw16c'] : backend === 'reference' ? [null] : [null, 'plain', 'nhwc']
      for (const layout of layouts) {
        it(`${backend} in ${precision}${layout ? ` to ${layout}` : ''} gives the samples of their positions`, () => {
          const faults = cases.flatMap((each) => {
            if (each.sample.length < 3 && layout !== null && layout !== 'plain') return []
            return [1, 5].flatMap((size) =>
              [true, false].flatMap((classes) => faultsOf({ backend, precision, layout }, each, size, classes))
            )
          })
          expectNone(faults)
        })

        it(`${backend} in ${precision}${layout ? ` to ${layout}` : ''} mixes images of a batch in pairs`, () => {
          const both = (each: LoadCase, size: number): string[] =>
            [true, false].flatMap((classes) => mixtureFaultsOf({ backend, precision, layout }, each, size, classes))
          expectNone(MIXTURES.flatMap((each) => [2, 5].flatMap((size) => both(each, size))))
        })
      }
    }
  }

  it('takes every sample once an epoch, in another order each', () => {
    const orders = [0, 1].map((epoch) => {
      const data = samplesOf(cases[0]!)
      return Array.from(batchOf(data, { ...PLAIN, shuffled: 1 }, epoch * COUNT, COUNT).indices)
    })
    for (const order of orders) expect([...order].sort((a, b) => a - b)).to.deep.equal(Array.from({ length: COUNT }, (_, i) => i))
    expect(orders[0]).not.to.deep.equal(orders[1])
  })

  it('shows each image both ways in two epochs if flips alternate, and half of them mirrored in each', () => {
    const data: Samples = { count: COUNT, sample: [1, 1, 2], samples: Uint8Array.from({ length: 2 * COUNT }, (_, i) => i) }
    const use: OperatorCase = {
      kind: 'load',
      name: 'alternating flips',
      attributes: { ...PLAIN, flip: 2, shuffled: 1, std: [1 / 255] },
      inputs: {},
      outputs: { x: activation(COUNT, 1, 1, 2), target: labelOf(9, COUNT) }
    }
    withDataset({ backend: 'cpu', precision: 'f32' }, use, { ...data, labels, classes: 9 }, (bound) => {
      const [first, second] = [6, 7].map((epoch) => {
        const pixels = bound.run({}, epoch * COUNT).outputs.x!
        const mirrored = Array.from(
          { length: COUNT },
          (_, i) => [Math.min(pixels[2 * i]!, pixels[2 * i + 1]!), pixels[2 * i]! > pixels[2 * i + 1]!] as const
        )
        return new Map(mirrored.map(([image, flipped]) => [Math.round(image), flipped]))
      })
      expect(first!.size).to.equal(COUNT)
      for (const [image, flipped] of first!) expect(second!.get(image), `image ${image}`).to.equal(!flipped)
      expect([...first!.values()].filter(Boolean)).to.have.length.within(COUNT / 4, (3 * COUNT) / 4)
    })
  })

  for (const { name: backend } of testedBackends())
    it(`${backend} gives the labels of tokens, be they more or fewer than these`, () => {
      const tokens = Int32Array.from({ length: COUNT * 4 }, (_, i) => i)
      for (const each of [4, 3, 9]) {
        const all = Int32Array.from({ length: COUNT * each }, (_, i) => (i % 10) - 1)
        const data = { count: COUNT, sample: [4], samples: tokens, labels: all, label: [each], classes: 9 }
        const outputs = { x: { ...labelOf(COUNT * 4, 5), shape: [5, 4] }, target: { ...labelOf(9, 5), shape: [5, each] } }
        const use: OperatorCase = { kind: 'load', name: 'tokens', attributes: { ...PLAIN }, inputs: {}, outputs }
        withDataset({ backend, precision: 'f32' }, use, data, (bound) => {
          const { x, target } = bound.run({}, COUNT - 2).outputs
          const order = [COUNT - 2, COUNT - 1, 0, 1, 2]
          expect([...x!]).to.deep.equal(order.flatMap((sample) => [0, 1, 2, 3].map((at) => sample * 4 + at)))
          expect([...target!]).to.deep.equal(order.flatMap((sample) => [...all.subarray(sample * each, (sample + 1) * each)]))
        })
      }
    })

  it('draws shares of Beta(a, a), which lie the nearer to 0 and 1 the smaller a is', () => {
    for (const mixup of [0.2, 1, 2]) {
      const shares = Array.from({ length: 4000 }, (_, position) => mixOf({ ...PLAIN, mixup }, SEED, position, 1, 1).own)
      const mean = shares.reduce((sum, share) => sum + share, 0) / shares.length
      const variance = shares.reduce((sum, share) => sum + (share - mean) ** 2, 0) / shares.length
      expect(mean).to.be.closeTo(0.5, 0.03)
      expect(variance).to.be.closeTo(1 / (4 * (2 * mixup + 1)), 0.01)
    }
  })

  for (const { name: backend } of testedBackends())
    it(`${backend} refuses to mix what has class numbers as targets, or more classes than the program`, () => {
      const [each] = MIXTURES
      const running = (target: OperatorCase['outputs'][string]) => () =>
        withDataset({ backend, precision: 'f32' }, useOf(each!, 2, target), { ...samplesOf(each!), labels, classes: 9 }, (bound) =>
          bound.run({}, 0)
        )
      expect(running(labelOf(9, 2)))
        .to.throw('class numbers as the target of images that are mixed')
        .with.property('code', 'INVALID_PROGRAM')
      expect(running(activation(2, 8)))
        .to.throw()
        .with.property('code', 'SHAPE_MISMATCH')
    })

  it('refuses a data set of another shape', () => {
    const use = useOf(cases[1]!, 2, labelOf(9, 2))
    const data = { ...samplesOf(cases[0]!), labels, classes: 9 }
    expect(() => withDataset({ backend: 'reference', precision: 'f32' }, use, data, () => undefined))
      .to.throw()
      .with.property('code', 'SHAPE_MISMATCH')
  })
})
