import { spawnSync } from 'node:child_process'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { CIFAR_10, CIFAR_100_TRAIN, readCifar } from '../../src/data/cifar.js'
import { refused } from '../support/codes.js'
import { skip } from '../support/skip.js'
import { cifarFile, Folder } from './support/files.js'

const ten = (records: number) => ({ ...CIFAR_10, records })
const xzWorks = spawnSync('xz', ['--version']).status === 0

describe('CIFAR-10 batches', () => {
  let folder: Folder
  beforeEach(async () => {
    folder = await Folder.make()
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  it('follow one another in the order of their files, plain or packed', async () => {
    const first = await folder.write('a.bin', cifarFile([3, 0, 9]))
    const second = await folder.write('b.bin.gz', gzipSync(cifarFile([1, 2, 8])))
    const spec = await readCifar([first, second], ten(3))
    expect(spec.count).to.equal(6)
    expect(spec.sample).to.deep.equal([3, 32, 32])
    expect(spec.labels).to.deep.equal(Int32Array.of(3, 0, 9, 1, 2, 8))
    for (let r = 0; r < 6; r++) {
      const image = spec.samples.subarray(r * 3072, (r + 1) * 3072)
      expect(
        image.every((pixel, i) => pixel === ((r % 3) + i) % 251),
        `record ${r}`
      ).to.equal(true)
    }
  })

  it('hold exactly as many records as they should', async () => {
    const file = await folder.write('a.bin', cifarFile([3, 0, 9]))
    await refused('DATA_CORRUPT', () => readCifar([file], ten(2)), file, 'its end after 6146 bytes')
    await refused('DATA_CORRUPT', () => readCifar([file], ten(4)), file, 'records 0 to 3 of 4', '9219')
    await refused('DATA_CORRUPT', () => readCifar([file]), file, 'records 0 to 99 of 10000')
  })

  it('name the file and the record of a label out of range', async () => {
    const labels = Array.from({ length: 130 }, (_, r) => (r === 117 ? 10 : r % 10))
    const [good, bad] = [await folder.write('a.bin', cifarFile(labels.map(() => 4))), await folder.write('b.bin', cifarFile(labels))]
    const error = await refused('LABEL_OUT_OF_RANGE', () => readCifar([good, bad], ten(130)), bad, 'record 117', 'label 10')
    expect(error.data).to.include({ record: 117, label: 10 })
  })

  it('have a coarse and a fine label where there are a hundred classes, of which one is taken', async () => {
    const records: readonly [number, number][] = [
      [19, 99],
      [0, 20],
      [7, 0]
    ]
    const content = (labels: readonly [number, number][]) =>
      Buffer.concat(
        labels.map(([coarse, fine], r) => Buffer.from([coarse, fine, ...Array.from({ length: 3072 }, (_, i) => (r + i) % 251)]))
      )
    const file = await folder.write('train.bin', content(records))
    const layout = { ...CIFAR_100_TRAIN, records: 3 }
    const fine = await readCifar([file], layout)
    expect([fine.classes, ...fine.labels!]).to.deep.equal([100, 99, 20, 0])
    expect([...fine.samples.subarray(3072, 3075)]).to.deep.equal([1, 2, 3])
    const coarse = await readCifar([file], { ...layout, labelIndex: 0 })
    expect([coarse.classes, ...coarse.labels!]).to.deep.equal([20, 19, 0, 7])
    expect(coarse.samples).to.deep.equal(fine.samples)
    const wrong = await folder.write('wrong.bin', content([[20, 5]]))
    await refused('LABEL_OUT_OF_RANGE', () => readCifar([wrong], { ...layout, records: 1 }), wrong, 'record 0', 'label 20')
  })

  it('are unpacked by xz, whose complaints are told', async function () {
    if (!xzWorks) skip(this, 'no program xz')
    const content = cifarFile([5, 6])
    const packed = spawnSync('xz', ['-c'], { input: content }).stdout
    const whole = await folder.write('a.bin.xz', packed)
    expect((await readCifar([whole], ten(2))).labels).to.deep.equal(Int32Array.of(5, 6))
    await refused('DATA_CORRUPT', () => readCifar([whole], ten(1)), 'its end after 3073 bytes')
    const cut = await folder.write('b.bin.xz', packed.subarray(0, -5))
    await refused('DATA_CORRUPT', () => readCifar([cut], ten(2)), cut, 'a complete xz stream')
  })

  it('say the command that installs xz where it is missing', async () => {
    const file = await folder.write('a.bin.xz', Buffer.from('fd377a585a000004', 'hex'))
    const path = process.env['PATH']
    process.env['PATH'] = folder.path
    try {
      await refused('DATA_NOT_FOUND', () => readCifar([file], ten(1)), file, 'sudo apt-get install xz-utils')
    } finally {
      process.env['PATH'] = path
    }
  })
})
