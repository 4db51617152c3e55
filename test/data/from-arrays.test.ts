import { expect } from 'chai'
import type { ArrayDatasetOptions } from '../../src/data/array-options.js'
import { datasetFromArrays } from '../../src/data/from-arrays.js'
import type { ErrorCode } from '../../src/errors.js'
import { refused } from '../support/codes.js'

/** 20 images of 2 channels and 1x2 pixels: sample i holds 4 pixels of value i, and its label is i mod 4. */
const IMAGES: ArrayDatasetOptions = {
  sample: [2, 1, 2],
  samples: Uint8Array.from({ length: 80 }, (_, i) => Math.floor(i / 4)),
  labels: Array.from({ length: 20 }, (_, i) => i % 4),
  classes: 4
}

const CURVE: ArrayDatasetOptions = {
  sample: [2],
  samples: Float32Array.from({ length: 20 }, (_, i) => i / 10),
  target: [1],
  targets: Float32Array.from({ length: 10 }, (_, i) => -i)
}

const MASKS: ArrayDatasetOptions = {
  sample: [2, 1, 2],
  samples: IMAGES.samples,
  target: [1, 1, 2],
  targets: new Float32Array(40)
}

/** The images again, with a label for each pixel. */
const PIXELS: ArrayDatasetOptions = { ...IMAGES, label: [1, 2], labels: Array.from({ length: 40 }, (_, i) => (i % 5) - 1) }

/** Ten sentences of three tokens, with a tag for each. */
const TAGS: ArrayDatasetOptions = {
  sample: [3],
  samples: Int32Array.from({ length: 30 }, (_, i) => i),
  label: [3],
  labels: Array.from({ length: 30 }, (_, i) => (i % 3) - 1),
  classes: 2
}

function held(seed: number): number[] {
  return [...datasetFromArrays({ ...IMAGES, seed }).test.samples]
}

describe('datasetFromArrays', () => {
  it('holds out a part of the samples, each with its own label', () => {
    const set = datasetFromArrays({ ...IMAGES, testFraction: 0.25 })
    expect([set.name, set.train.count, set.test.count, set.classes]).to.deep.equal(['custom', 15, 5, 4])
    const all = [set.train, set.test].flatMap(({ samples, labels, count }) =>
      Array.from({ length: count }, (_, i) => {
        expect(labels![i]).to.equal(samples[4 * i]! % 4)
        return samples[4 * i]!
      })
    )
    expect(all.sort((a, b) => a - b)).to.deep.equal(Array.from({ length: 20 }, (_, i) => i))
  })

  it('holds out the same for the same seed, and another part for another', () => {
    expect(held(1)).to.deep.equal(held(1))
    expect(new Set([1, 2, 3, 4, 5].map((seed) => held(seed).join())).size).to.be.above(1)
  })

  it('takes a test set as it is, and copies no samples', () => {
    const samples = Uint8Array.of(1, 2, 3, 4)
    const set = datasetFromArrays({ ...IMAGES, name: 'mine', test: { samples, labels: [3] } })
    expect(set.name).to.equal('mine')
    expect(set.train.samples).to.equal(IMAGES.samples)
    expect(set.test.samples).to.equal(samples)
    expect(set.test.labels).to.deep.equal(Int32Array.of(3))
  })

  it('keeps the names of the classes, one for each', async () => {
    const classNames = ['ant', 'bee', 'cat', 'dog']
    expect(datasetFromArrays({ ...IMAGES, classNames }).classNames).to.equal(classNames)
    expect(datasetFromArrays(IMAGES)).to.not.have.property('classNames')
    await refused('INVALID_OPTION', () => datasetFromArrays({ ...IMAGES, classNames: ['ant'] }), 'classNames', '4 names')
    await refused('INVALID_OPTION', () => datasetFromArrays({ ...CURVE, classNames }), 'classNames', 'no names')
  })

  it('measures mean and std of bytes, channel by channel', () => {
    const samples = Uint8Array.of(0, 255, 51, 51, 255, 0, 51, 51)
    const { mean, std } = datasetFromArrays({ ...IMAGES, samples, labels: [0, 1], test: { samples, labels: [0, 1] } })
    expect(mean).to.deep.equal([0.5, 0.2])
    expect(std).to.deep.equal([0.5, 1])
  })

  it('measures one mean and std of sequences', () => {
    const { sample, mean, std } = datasetFromArrays({ ...IMAGES, sample: [2, 2] })
    expect(sample).to.deep.equal([2, 2])
    expect([mean, std].map(({ length }) => length)).to.deep.equal([1, 1])
  })

  it('takes floats as they are, with targets instead of classes', () => {
    const set = datasetFromArrays(CURVE)
    expect([set.classes, set.mean, set.std]).to.deep.equal([0, [0], [1]])
    expect([set.train.count, set.test.count, set.train.target]).to.deep.equal([9, 1, [1]])
    for (let i = 0; i < 9; i++) expect(set.train.samples[2 * i]).to.be.closeTo(-set.train.targets![i]! / 5, 1e-6)
  })

  it('splits bytes that are a Buffer without sharing them', () => {
    const samples = Buffer.from(IMAGES.samples)
    const set = datasetFromArrays({ ...IMAGES, samples })
    expect(set.test.samples.buffer).to.not.equal(samples.buffer)
    expect(set.test.samples.length).to.equal(8)
  })

  it('takes a label for each position, of which some may be of no class', () => {
    const set = datasetFromArrays(TAGS)
    expect([set.train.count, set.test.count, set.train.label]).to.deep.equal([9, 1, [3]])
    for (const { samples, labels } of [set.train, set.test]) {
      expect(samples).to.be.an.instanceof(Int32Array)
      for (const [at, token] of samples.entries()) expect(labels![at]).to.equal((token % 3) - 1)
    }
    expect(datasetFromArrays({ ...PIXELS, augmentation: { padding: 1, flip: true } }).train.label).to.deep.equal([1, 2])
  })

  const faults: readonly [ErrorCode, string, unknown][] = [
    ['SHAPE_MISMATCH', 'samples', { ...IMAGES, samples: new Uint8Array(81) }],
    ['SHAPE_MISMATCH', 'samples', { ...IMAGES, samples: new Uint8Array(0) }],
    ['SHAPE_MISMATCH', 'labels', { ...IMAGES, labels: [0, 1, 2] }],
    ['SHAPE_MISMATCH', 'targets', { ...CURVE, targets: new Float32Array(9) }],
    ['SHAPE_MISMATCH', 'mean', { ...IMAGES, mean: [0.5] }],
    ['SHAPE_MISMATCH', 'std', { ...IMAGES, std: [1, 1, 1] }],
    ['SHAPE_MISMATCH', 'test.labels', { ...IMAGES, test: { samples: new Uint8Array(4), labels: [] } }],
    ['LABEL_OUT_OF_RANGE', 'record 19 has label 4', { ...IMAGES, labels: [...Array<number>(19).fill(0), 4] }],
    ['LABEL_OUT_OF_RANGE', 'record 0 has label -1', { ...IMAGES, labels: Int32Array.from({ length: 20 }, () => -1) }],
    ['LABEL_OUT_OF_RANGE', 'record 0 has label "1"', { ...IMAGES, labels: Array<string>(20).fill('1') }],
    ['LABEL_OUT_OF_RANGE', 'record 0 has label 1n', { ...IMAGES, labels: new BigInt64Array(20).fill(1n) }],
    ['LABEL_OUT_OF_RANGE', 'record 0 has label 0.5', { ...IMAGES, labels: Array<number>(20).fill(0.5) }],
    ['LABEL_OUT_OF_RANGE', 'test.labels', { ...IMAGES, test: { samples: new Uint8Array(4), labels: [7] } }],
    ['SHAPE_MISMATCH', 'labels', { ...TAGS, labels: [0, 1, 0] }],
    ['LABEL_OUT_OF_RANGE', 'record 9 has label -2', { ...TAGS, labels: [...Array<number>(29).fill(-1), -2] }],
    ['LABEL_OUT_OF_RANGE', 'or -1 where none counts', { ...TAGS, labels: Array<number>(30).fill(2) }],
    ['INVALID_OPTION', "the training samples' labels", { ...TAGS, labels: Array<number>(30).fill(-1) }],
    ['INVALID_OPTION', 'test.labels', { ...TAGS, test: { samples: new Int32Array(3), labels: [-1, -1, -1] } }],
    ['INVALID_OPTION', 'test.samples', { ...TAGS, test: { samples: new Float32Array(3), labels: [1, 1, 1] } }],
    ['INVALID_OPTION', 'samples[1]', { ...TAGS, samples: Int32Array.from({ length: 30 }, (_, i) => -i) }],
    ['INVALID_OPTION', 'sample', { ...TAGS, sample: [3, 1] }],
    ['INVALID_OPTION', 'label', { ...TAGS, label: [] }],
    ['INVALID_OPTION', 'label', { ...CURVE, label: [1] }],
    ['INVALID_OPTION', 'augmentation', { ...PIXELS, label: [2], augmentation: { padding: 1, flip: false } }],
    ['INVALID_OPTION', 'samples', { ...IMAGES, samples: [1, 2, 3, 4] }],
    ['INVALID_OPTION', 'samples[3]', { ...CURVE, samples: Float32Array.of(0, 1, 2, NaN) }],
    ['INVALID_OPTION', 'targets[1]', { ...CURVE, targets: Float32Array.of(0, Infinity, ...Array<number>(8).fill(0)) }],
    ['INVALID_OPTION', 'labels', { ...IMAGES, labels: undefined }],
    ['INVALID_OPTION', 'labels', { ...IMAGES, targets: new Float32Array(20) }],
    ['INVALID_OPTION', 'classes', { ...IMAGES, classes: undefined }],
    ['INVALID_OPTION', 'classes', { ...IMAGES, classes: 1 }],
    ['INVALID_OPTION', 'classes', { ...CURVE, classes: 3 }],
    ['INVALID_OPTION', 'target', { ...CURVE, target: undefined }],
    ['INVALID_OPTION', 'target', { ...IMAGES, target: [1] }],
    ['INVALID_OPTION', 'sample', { ...IMAGES, sample: [2, 1, 2, 1] }],
    ['INVALID_OPTION', 'sample', { ...IMAGES, sample: undefined }],
    ['INVALID_OPTION', 'sample', { ...IMAGES, sample: [2, 0, 2] }],
    ['INVALID_OPTION', 'testFraction', { ...IMAGES, testFraction: 1 }],
    ['INVALID_OPTION', 'testFraction', { ...IMAGES, testFraction: NaN }],
    ['INVALID_OPTION', 'testFraction', { ...IMAGES, testFraction: 0.2, test: { samples: new Uint8Array(4), labels: [0] } }],
    ['INVALID_OPTION', 'test.samples', { ...IMAGES, test: { samples: new Float32Array(4), labels: [0] } }],
    ['INVALID_OPTION', 'samples', { ...IMAGES, samples: new Uint8Array(4), labels: [0] }],
    ['INVALID_OPTION', 'seed', { ...IMAGES, seed: -1 }],
    ['INVALID_OPTION', 'mean', { ...IMAGES, mean: [0, NaN] }],
    ['INVALID_OPTION', 'std', { ...IMAGES, std: [1, 0] }],
    ['INVALID_OPTION', 'augmentation.padding', { ...IMAGES, augmentation: { padding: 2, flip: false } }],
    ['INVALID_OPTION', 'augmentation.padding', { ...IMAGES, augmentation: { padding: 1, border: 'reflect', flip: false } }],
    ['UNKNOWN_NAME', 'augmentation.border', { ...IMAGES, augmentation: { padding: 1, border: 'edge', flip: false } }],
    ['INVALID_OPTION', 'augmentation.padding', { ...CURVE, augmentation: { padding: 1, flip: false } }],
    ['INVALID_OPTION', 'augmentation', { ...MASKS, augmentation: { padding: 0, flip: true } }],
    ['INVALID_OPTION', 'augmentation.flip', { ...CURVE, augmentation: { padding: 0, flip: true } }],
    ['INVALID_OPTION', 'augmentation.cutout', { ...IMAGES, augmentation: { padding: 0, flip: false, cutout: 3 } }],
    ['INVALID_OPTION', 'augmentation.cutout', { ...IMAGES, augmentation: { padding: 0, flip: false, cutout: 0.5 } }],
    ['INVALID_OPTION', 'augmentation.cutout', { ...CURVE, augmentation: { padding: 0, flip: false, cutout: 1 } }],
    ['INVALID_OPTION', 'augmentation.mixup', { ...IMAGES, augmentation: { padding: 0, flip: false, mixup: 2.5 } }],
    ['INVALID_OPTION', 'augmentation.cutmix', { ...IMAGES, augmentation: { padding: 0, flip: false, cutmix: -1 } }],
    ['INVALID_OPTION', 'augmentation', { ...CURVE, augmentation: { padding: 0, flip: false, mixup: 1 } }],
    ['INVALID_OPTION', 'augmentation', { ...PIXELS, augmentation: { padding: 0, flip: false, mixup: 1 } }],
    ['INVALID_OPTION', 'augmentation.cutmix', { ...MASKS, augmentation: { padding: 0, flip: false, cutmix: 1 } }],
    ['INVALID_OPTION', 'augmentation.flip', { ...IMAGES, augmentation: { padding: 0, flip: 'always' } }]
  ]
  faults.forEach(([code, words, options], i) => {
    it(`refuses bad input ${i + 1}: ${code} of ${words}`, () =>
      refused(code, () => datasetFromArrays(options as ArrayDatasetOptions), words))
  })
})
