import { expect } from 'chai'
import { datasetFromText } from '../../src/data/datasets.js'
import { datasetFromArrays } from '../../src/data/from-arrays.js'
import type { Dataset, StreamedSamples } from '../../src/data/dataset.js'
import { datasetFault } from '../../src/options/dataset-fault.js'
import { settingsOf } from '../../src/options/settings.js'
import { refused } from '../support/codes.js'

const samples: StreamedSamples = {
  count: 2,
  sample: [1, 4, 4],
  classes: 2,
  labels: Int32Array.of(0, 1),
  items: ['a', 'b'],
  reader: { module: 'file:///home/me/reader.js', options: {} }
}
const data: Dataset = {
  name: 'own',
  sample: [1, 4, 4],
  classes: 2,
  train: samples,
  test: samples,
  mean: [0.5],
  std: [0.5],
  augmentation: { padding: 0, flip: false }
}

const windows = await datasetFromText({ text: 'abcab'.repeat(20), context: 4 })

describe('A data set that a program has made by hand', () => {
  it('has no fault where all is there, as one that is made of arrays', () => {
    expect(datasetFault(data)).to.equal(undefined)
    expect(datasetFault(datasetFromArrays({ sample: [1], samples: Float32Array.of(1, 2), labels: [0, 1], classes: 2 }))).to.equal(undefined)
    expect(datasetFault({ ...data, train: { ...samples, reader: { module: '/home/me/reader.js', options: {} } } })).to.equal(undefined)
  })

  const stored = datasetFromArrays({ sample: [1], samples: Float32Array.of(1, 2, 3), labels: [0, 1, 1], classes: 2 })
  const numbers = datasetFromArrays({ sample: [1], samples: Float32Array.of(1, 2, 3), target: [1], targets: Float32Array.of(1, 2, 3) })

  it('may have windows of a text, or targets', () => {
    for (const each of [stored, numbers, windows]) expect(datasetFault(each)).to.equal(undefined)
  })

  for (const [name, whole, train, fault] of [
    ['without samples', stored, { samples: undefined }, 'samples: received undefined; give a Uint8Array of pixels, a Float32Array'],
    ['with samples in a list', stored, { samples: [1, 2] }, 'samples: received [1,2]; give a Uint8Array of pixels, a Float32Array'],
    ['with doubles', stored, { samples: Float64Array.of(1, 2) }, 'samples: received Float64Array of 2 numbers; give a Uint8Array'],
    ['without labels', stored, { labels: undefined }, 'labels: received undefined; give an Int32Array with the class of each of its 2'],
    ['with its labels in a list', stored, { labels: [0, 1] }, 'labels: received [0,1]; give an Int32Array with the class of each of'],
    ['with a number for the shape of its labels', stored, { label: 1 }, "label: received 1; give the shape of a sample's labels"],
    [
      'with labels none of which counts',
      stored,
      { label: [1], labels: Int32Array.of(-1, -1) },
      'labels: each is -1, which counts for nothing'
    ],
    ['without classes in a part', stored, { classes: undefined }, "classes: received undefined; give 2, the data set's"],
    ['without targets', numbers, { targets: undefined }, 'targets: received undefined; give a Float32Array, or classes and labels'],
    ['without the shape of a target', numbers, { target: undefined }, 'target: received undefined; give the shape of one target'],
    ['with a text without tokens', windows, { samples: 'abc' }, 'samples: received "abc"; give a Uint8Array of pixels']
  ] as const)
    it(`is told what is wrong ${name} in memory`, () =>
      expect(datasetFault({ ...whole, train: { ...whole.train, ...train } as never })).to.match(startingWith(`train.${fault}`)))

  it('is told what is wrong with names of more or fewer classes', () => {
    for (const classNames of [['cat'], ['cat', 'dog', 'emu'], 2])
      expect(datasetFault({ ...stored, classNames } as Dataset)).to.match(
        /^classNames: received .*; give a list of 2 names, one for each class$/
      )
  })

  it('is refused by train with that', () =>
    refused(
      'INVALID_OPTION',
      () => settingsOf({ model: 'mlp', data: { ...data, std: undefined } as never }),
      'std: received undefined; give a number'
    ))

  for (const [name, more, fault] of [
    ['without a mean', { mean: undefined }, 'mean: received undefined; give a number for each channel'],
    ['with a mean in an array of its own', { mean: Float32Array.of(0.5) }, 'mean: received Float32Array of 1 number'],
    ['with a std that is a text', { std: '0.5' }, 'std: received "0.5"; give a number for each channel, in a list'],
    ['without an augmentation', { augmentation: undefined }, 'augmentation: received undefined; give { padding: 0, flip: false } for none'],
    [
      'with keys that are numbers',
      { train: { ...samples, items: [0, 1] } },
      'train.items: give a list with the key of each of its 2 samples'
    ],
    ['with no thread that reads', { feed: { threads: 0 } }, 'feed.threads: received 0; use a whole number from 1 to 1024'],
    ['with a mistyped option of its feed', { feed: { onBadSample: 'Skip' } }, 'feed.onBadSample: received "Skip"'],
    ['without a feed', { feed: null }, 'feed: received null'],
    ['with too few keys', { train: { ...samples, items: ['a'] } }, 'train.items: give a list with the key of each of its 2 samples'],
    [
      'with too few labels',
      { test: { ...samples, labels: Int32Array.of(1) } },
      'test.labels: give an Int32Array with the class of each of'
    ],
    ['with labels in a list', { test: { ...samples, labels: [0, 1] } }, 'test.labels: give an Int32Array'],
    ['with samples of two shapes', { train: { ...samples, sample: [1, 2, 2] } }, 'train.sample: received [1,2,2]; give [1,4,4]'],
    ['with another number of classes', { train: { ...samples, classes: 3 } }, 'train.classes: received 3; give 2'],
    ['without a reader', { train: { ...samples, reader: undefined } }, 'train.reader.module: received undefined; give the address'],
    [
      'whose reader has a relative path',
      { train: { ...samples, reader: { module: './reader.js', options: {} } } },
      'train.reader.module: received "./reader.js"; give the address'
    ],
    [
      'whose reader has options that no other thread can get',
      { train: { ...samples, reader: { module: 'data:text/javascript,', options: { open() {} } } } },
      'train.reader.options: it cannot be posted to a thread'
    ]
  ] as const)
    it(`is told what is wrong ${name}`, () => expect(datasetFault({ ...data, ...more } as Dataset)).to.match(startingWith(fault)))
})

function startingWith(text: string): RegExp {
  return new RegExp(`^${text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}`)
}
