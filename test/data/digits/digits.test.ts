import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { StoredDataset } from '../../../src/data/dataset.js'
import { digits } from '../../../src/data/digits/digits.js'
import { DRAWING_VERSION, keptDigitsFile } from '../../../src/data/digits/kept-digits.js'
import { pixelStatistics } from '../../../src/data/from-arrays.js'
import { refused } from '../../support/codes.js'
import { linearAccuracy } from '../support/linear.js'

function sha256(...parts: readonly NodeJS.ArrayBufferView[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

describe('drawn digits', function () {
  this.timeout(60_000)

  let folder: string
  const { ARBALEST_CACHE } = process.env
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'digits-'))
    process.env['ARBALEST_CACHE'] = folder
  })
  after(async () => {
    if (ARBALEST_CACHE === undefined) delete process.env['ARBALEST_CACHE']
    else process.env['ARBALEST_CACHE'] = ARBALEST_CACHE
    await rm(folder, { recursive: true })
  })

  it('are the same for the same seed, and others for another', async () => {
    const one = await digits({ samples: 200, seed: 5 })
    const sum = sha256(one.train.samples, one.test.samples, one.train.labels!, one.test.labels!)
    // Other images need another version, or else processes read those that older ones have kept.
    expect({ version: DRAWING_VERSION, sum }).to.deep.equal({
      version: 1,
      sum: '2081aaf8eaf0822be14bc8b6e7e95e6e8f6ff96d9766ecdcad5cfc569538ab91'
    })
    const other = await digits({ samples: 200, seed: 6 })
    expect(sha256(other.train.samples)).to.not.equal(sha256(one.train.samples))
    expect(other.train.labels).to.not.deep.equal(one.train.labels)
  })

  it('have balanced and shuffled labels, and a tenth as many to be measured on', async () => {
    const { train, test, sample, classes } = await digits({ samples: 500 })
    expect([train.count, test.count, classes]).to.deep.equal([500, 50, 10])
    expect(sample).to.deep.equal([1, 28, 28])
    expect(train.samples.length).to.equal(500 * 784)
    for (let digit = 0; digit < 10; digit++) {
      expect(train.labels!.filter((label) => label === digit).length).to.equal(50)
      expect(train.labels!.subarray(0, 50).includes(digit)).to.equal(true)
    }
    expect(train.labels!.every((label, i) => label === i % 10)).to.equal(false)
  })

  it('of another count or seed are not kept', async () => {
    await digits({ samples: 20 })
    expect(await readdir(folder)).to.deep.equal([])
  })

  it('refuse a count or a seed that makes no sense', async () => {
    for (const samples of [0, 9, 10.5, NaN, 1e9]) await refused('INVALID_OPTION', () => digits({ samples }), 'samples', String(samples))
    for (const seed of [-1, 0.5, Infinity]) await refused('INVALID_OPTION', () => digits({ seed }), 'seed')
  })

  describe('in full', () => {
    let set: StoredDataset
    let turns = 0
    before(async () => {
      const clock = setInterval(() => turns++, 1)
      set = await digits()
      clearInterval(clock)
    })

    it('number 20,000 and 2,000, no two alike', () => {
      expect([set.train.count, set.test.count]).to.deep.equal([20_000, 2_000])
      const images = new Set<string>()
      for (const { samples, count } of [set.train, set.test]) {
        for (let i = 0; i < count; i++) images.add(sha256(samples.subarray(784 * i, 784 * (i + 1))))
      }
      expect(images.size).to.equal(22_000)
    })

    it('let the event loop turn while they are drawn', () => {
      expect(turns).to.be.above(20)
    })

    it('have the mean and std that they state', () => {
      const { mean, std } = pixelStatistics(set.train.samples as Uint8Array, 1, set.train.count)
      expect(mean[0]).to.be.closeTo(set.mean[0]!, 0.002)
      expect(std[0]).to.be.closeTo(set.std[0]!, 0.002)
    })

    it('are kept: the next time they are read', async () => {
      const drawn = [set.train.labels!, set.train.samples, set.test.labels!, set.test.samples]
      const parts = ({ train, test }: StoredDataset) => [train.labels!, train.samples, test.labels!, test.samples]
      expect(sha256(...parts(await digits()))).to.equal(sha256(...drawn))
      // A pixel that was never drawn shows that the file was read.
      const file = keptDigitsFile()!
      const content = (await readFile(file)).subarray(32)
      const pixel = set.train.count + 5
      content[pixel]! ^= 1
      await writeFile(file, Buffer.concat([createHash('sha256').update(content).digest(), content]))
      const read = await digits()
      expect(read.train.samples[5]).to.equal(set.train.samples[5]! ^ 1)
      read.train.samples[5] = set.train.samples[5]!
      expect(sha256(...parts(read))).to.equal(sha256(...drawn))
      expect(await readdir(folder)).to.deep.equal([`digits-${DRAWING_VERSION}.bin`])
    })

    it('are learnt by a linear model in part only', () => {
      expect(linearAccuracy(set, 2)).to.be.within(0.84, 0.92)
    })
  })
})
