import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { Dataset, StreamedSamples } from '../../src/data/dataset.js'
import { checkpointsIn } from '../../src/checkpoints/store.js'
import { defineModel, flatten, linear } from '../../src/model/layers.js'
import type { JobEvent } from '../../src/observe/events.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import { trainWith } from '../../src/run/train.js'
import type { MortalReaderOptions } from '../fakes/mortal-reader.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'
import { warningsIn } from '../support/warnings.js'

const READER = new URL('../fakes/mortal-reader.js', import.meta.url).href
const FAILING_ENGINE = new URL('../fakes/failing-feeder-engine.js', import.meta.url)
const model = defineModel({ name: 'plain', input: [1, 4, 4], layers: [flatten(), linear(4)] })

/** Numbers; the class of each is its remainder modulo 4. */
function numbers(options: MortalReaderOptions): Dataset {
  const part = (count: number) => ({
    count,
    sample: [1, 4, 4],
    classes: 4,
    items: Array.from({ length: count }, (_, i) => `${i}`),
    labels: Int32Array.from({ length: count }, (_, i) => i % 4),
    reader: { module: READER, options }
  })
  const parts = { train: part(150), test: part(60) }
  return { name: 'numbers', sample: [1, 4, 4], classes: 4, ...parts, mean: [0], std: [1], augmentation: { padding: 0, flip: false } }
}

const ports = () => process.getActiveResourcesInfo().filter((resource) => resource === 'MessagePort').length

async function outcome(data: Dataset, modules: Parameters<typeof trainWith>[1] = {}, more: Partial<TrainOptions> = {}) {
  const job = trainWith({ model, data, learners: 2, batch: 5, until: { epochs: 3 }, seed: 1, ...more }, modules)
  const events: JobEvent[] = []
  for await (const event of job) events.push(event)
  return { finished: await job.finished, lost: events.filter((event) => event.event === 'learnerLost') }
}

describe('The feeder', function () {
  this.timeout(120_000)
  let folder: Folder
  let mark: string
  let undisturbed: string
  before(async () => {
    folder = await Folder.make()
    mark = join(folder.path, 'mark')
    undisturbed = (await outcome(numbers({ deadly: 'none' }))).finished.weightsSha256
  })
  afterEach(() => rm(mark, { force: true }))
  after(() => folder[Symbol.asyncDispose]())

  for (const ending of ['exit', 'throw'])
    it(`is replaced if it dies by ${ending}, and its successor continues at the right batch`, async () => {
      process.env['ARBALEST_TEST_MARK'] = mark
      process.env['ARBALEST_TEST_ENDING'] = ending
      const { finished, lost } = await outcome(numbers({ deadly: 'none' }), { engine: FAILING_ENGINE })
      expect(existsSync(mark), 'it has not died').to.equal(true)
      expect(lost).to.deep.equal([])
      expect(finished.weightsSha256).to.equal(undisturbed)
    })

  it('ends the run with the cause if it dies again and again, and leaves no thread', async () => {
    process.env['ARBALEST_TEST_MARK'] = mark
    process.env['ARBALEST_TEST_ENDING'] = 'always'
    const before = ports()
    const warnings = await warningsIn(async () => {
      const endless = () => outcome(numbers({ deadly: 'none' }), { engine: FAILING_ENGINE }, { until: { epochs: 10_000 } })
      const error = await refused('ACTOR_FAILED', endless, 'feeder: it ended too often')
      expect(error).to.have.nested.property('cause.cause.message', 'on purpose')
    })
    expect(warnings).to.deep.equal([])
    await sleep(50)
    expect(ports()).to.equal(before)
  })

  it('lets another thread of its pool finish the work of one that dies', async () => {
    const { finished, lost } = await outcome(numbers({ deadly: '77', mark }))
    expect(existsSync(mark), 'no thread has died').to.equal(true)
    expect(lost).to.deep.equal([])
    expect(finished.weightsSha256).to.equal(undisturbed)
  })

  it('gives up if thread after thread dies of a sample, and names samples that they worked on', async () => {
    await refused('DATA_CORRUPT', () => outcome(numbers({ deadly: '77' })), 'in 3 tries')
  })

  it('loses nothing of what was trained where a test sample cannot be read, which shows in the first measurement', async () => {
    const checkpoint = join(folder.path, 'run')
    const whole = numbers({ deadly: 'broken' })
    // So many that the last ones are not read while the run trains.
    const items = Array.from({ length: 2000 }, (_, i) => `${i}`)
    const labels = Int32Array.from(items, (item) => Number(item) % 4)
    const data = (last: string): Dataset => ({
      ...whole,
      test: { ...(whole.test as StreamedSamples), count: items.length, items: [...items.slice(1), last], labels },
      feed: { prefetch: 1, cache: 0 }
    })
    await refused('DATA_CORRUPT', () => outcome(data('broken'), {}, { checkpoint }))
    expect((await checkpointsIn(checkpoint)).map(({ iteration }) => iteration)).to.deep.equal([15])
    const { finished } = await outcome(data('0'), {}, { checkpoint })
    expect(finished.weightsSha256).to.equal(undisturbed)
  })
})
