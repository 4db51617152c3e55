import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { skip } from '../../../dist/test/support/skip.js'
import { datasetFromArrays, parameterCount, type EvaluatedEvent, type TrainOptions } from '../arbalest.js'
import { Allowance, OutOfTime } from '../gpu/allowance.js'
import { parametersOf, predictionGraph } from '../internals.js'
import { contest, resultIn, type ContestOptions, type Runner } from '../record/contest.js'
import { accuracyByCopies, accuracyOf, changed, COPIES } from '../record/copies.js'
import { eigen } from '../record/eigen.js'
import { initialWeights } from '../record/initial-weights.js'
import { Journal, latestJournal, type Contestant, type Settings } from '../record/journal.js'
import { FROZEN, RECIPE, recordModel } from '../record/recipe.js'
import { runRecipe, type RunResult } from '../record/run.js'
import { figuresOf, summaryOf } from '../record/summary.js'
import { whiteningFilters } from '../record/whitening.js'
import { asked } from '../record/words.js'
import { python, PYTHON } from './support/python.js'

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url))
const CHECK = fileURLToPath(new URL('../../src/test/airbench_check.py', import.meta.url))
const PIXELS = 3 * 32 * 32

const PLACE = { commit: 'abc', device: 'a GPU', driver: '580', torch: '2.11' }
const SETTINGS: Settings = { recipe: RECIPE, backend: 'cuda', precision: 'bf16' }
const result = (seconds: number, accuracy = 0.94): RunResult => ({
  seconds,
  wallSeconds: seconds + 1,
  accuracy,
  plainAccuracy: accuracy - 0.01
})

/** Numbers that are the same every time, from 0 to 1. */
function draws(): () => number {
  let state = 1
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

/** Images whose neighbouring pixels are alike, as those of photographs are. */
function smoothImages(count: number): Uint8Array {
  const draw = draws()
  const images = new Uint8Array(count * PIXELS)
  for (let i = 0; i < images.length; i++) images[i] = i % 32 === 0 ? 255 * draw() : 0.8 * images[i - 1]! + 0.2 * 255 * draw()
  return images
}

describe('The recipe of the record', () => {
  const model = recordModel()
  const shapes = new Map(parametersOf(predictionGraph(model)).map(({ name, shape }) => [name, shape]))

  it('is six convolutions of 3 x 3 behind the whitening, and a linear layer', () => {
    expect(shapes.get('whiten.weight')).to.deep.equal([24, 3, 2, 2])
    expect([1, 2, 3].flatMap((block) => [1, 2].map((conv) => shapes.get(`block${block}.conv${conv}.weight`)))).to.deep.equal([
      [64, 24, 3, 3],
      [64, 64, 3, 3],
      [256, 64, 3, 3],
      [256, 256, 3, 3],
      [256, 256, 3, 3],
      [256, 256, 3, 3]
    ])
    expect(shapes.get('head.weight')).to.deep.equal([10, 256])
    expect(parameterCount(model)).to.equal(1_972_792)
  })

  it('keeps nothing fixed but the whitening filters and the scales of all batch norms', () => {
    const patterns = FROZEN.map((pattern) => new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`))
    const frozen = [...shapes.keys()].filter((name) => patterns.some((pattern) => pattern.test(name)))
    const scales = [1, 2, 3].flatMap((block) => [1, 2].map((norm) => `block${block}.norm${norm}.weight`))
    expect(frozen).to.have.members(['whiten.weight', ...scales])
  })

  it('begins with filters that pass a channel through, and with the same weights for the same seed', () => {
    const data = datasetFromArrays({
      sample: [3, 32, 32],
      samples: smoothImages(40),
      labels: Array.from({ length: 40 }, (_, i) => i % 10),
      classes: 10
    })
    const weights = initialWeights(model, data, 3)
    const conv = weights['block1.conv1.weight']!
    // Filter 5 is the identity of channel 5; filter 24 is drawn.
    const filter = (i: number) => conv.data.subarray(i * 24 * 9, (i + 1) * 24 * 9)
    expect([...filter(5)].flatMap((value, i) => (value === 0 ? [] : [[i, value]]))).to.deep.equal([[5 * 9 + 4, 1]])
    expect([...filter(24)].filter((value) => value === 0)).to.have.length.below(3)
    expect([...weights['block3.norm2.weight']!.data].every((scale) => Math.abs(scale - RECIPE.headScale) < 1e-6)).to.equal(true)
    expect(Object.keys(weights)).to.include.members([...shapes.keys(), 'block2.norm1.runningMean'])
    expect(initialWeights(model, data, 3)).to.deep.equal(weights)
    expect(initialWeights(model, data, 4)['head.weight']).not.to.deep.equal(weights['head.weight'])
  })
})

describe('The recipe on a GPU', function () {
  this.timeout(120_000)

  it('has the loss that it has on a CPU, in the stand-in', async () => {
    const [samples, labels] = [smoothImages(64), Array.from({ length: 64 }, (_, i) => i % 10)]
    const test = { samples: samples.slice(0, 20 * PIXELS), labels: labels.slice(0, 20) }
    const data = datasetFromArrays({ sample: [3, 32, 32], samples, labels, classes: 10, test })
    const run = {
      recipe: { ...RECIPE, widths: [8, 16, 16], learners: 2, batch: 8 },
      seed: 1,
      backend: 'cpu',
      precision: 'f32',
      steps: 4
    } as const
    const losses: number[] = []
    // The kernels of processors round in other ways, which the recipe's rates make a thousandth of the loss in these steps.
    for (const backend of ['reference', 'cuda-host']) {
      const options = { backend, onEvaluated: ({ testLoss }: EvaluatedEvent) => void losses.push(testLoss) } as Partial<TrainOptions>
      expect(await runRecipe(run, data, { options })).to.include({ iterations: 4 })
    }
    expect(losses).to.have.length(2)
    expect(losses[1]).to.be.closeTo(losses[0]!, 1e-5)
  })
})

describe('whiteningFilters', () => {
  it('have outputs without correlation and with a variance of one', () => {
    const samples = smoothImages(20)
    const [mean, std] = [
      [0.5, 0.5, 0.5],
      [0.2, 0.25, 0.3]
    ]
    const filters = whiteningFilters({ samples, sample: [3, 32, 32] }, { mean, std, kernel: 2, count: 20 })
    expect(filters).to.have.length(24 * 12)
    const outputs: number[][] = []
    for (let image = 0; image < 20; image++) {
      for (let y = 0; y < 31; y++) {
        for (let x = 0; x < 31; x++) {
          const patch = Array.from({ length: 12 }, (_, i) => {
            const [c, dy, dx] = [Math.floor(i / 4), Math.floor(i / 2) % 2, i % 2]
            return (samples[((image * 3 + c) * 32 + y + dy) * 32 + x + dx]! / 255 - mean[c]!) / std[c]!
          })
          outputs.push(Array.from({ length: 12 }, (_, f) => patch.reduce((sum, pixel, i) => sum + pixel * filters[f * 12 + i]!, 0)))
        }
      }
    }
    for (let i = 0; i < 12; i++) {
      for (let j = 0; j <= i; j++) {
        const moment = outputs.reduce((sum, row) => sum + row[i]! * row[j]!, 0) / outputs.length
        // A little below 1, because of what is added to each variance.
        expect(moment).to.be.closeTo(i === j ? 1 : 0, 0.05)
      }
    }
    expect([...filters.subarray(12 * 12)]).to.deep.equal([...filters.subarray(0, 12 * 12)].map((weight) => -weight))
  })

  it('are of eigenvectors', () => {
    const matrix = [Float64Array.of(2, 1, 0), Float64Array.of(1, 2, 0), Float64Array.of(0, 0, 5)]
    const { values, vectors } = eigen(matrix)
    expect([...values].sort((a, b) => a - b).map((value) => Number(value.toFixed(9)))).to.deep.equal([1, 3, 5])
    for (const [k, value] of values.entries())
      for (const row of matrix.keys())
        expect(matrix[row]!.reduce((sum, entry, i) => sum + entry * vectors[i]![k]!, 0)).to.be.closeTo(value * vectors[row]![k]!, 1e-9)
  })
})

describe('The copies by which accuracy is measured', () => {
  it('are mirrored and moved, with the border mirrored', () => {
    const image = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9)
    const of = (mirrored: boolean, shift: number) => [...changed(image, [1, 3, 3], { mirrored, shift })]
    expect(of(false, 0)).to.deep.equal([...image])
    expect(of(true, 0)).to.deep.equal([3, 2, 1, 6, 5, 4, 9, 8, 7])
    expect(of(false, 1)).to.deep.equal([5, 4, 5, 2, 1, 2, 5, 4, 5])
    expect(of(false, -1)).to.deep.equal([5, 6, 5, 8, 9, 8, 5, 6, 5])
  })

  it('weigh one together, and the class with the highest sum counts', async () => {
    expect(COPIES.map(({ weight }) => weight).reduce((a, b) => a + b)).to.equal(1)
    expect(accuracyOf(Float32Array.of(0, 1, 1, 0, 0, 1), Int32Array.of(1, 0, 0))).to.equal(2 / 3)
    // By its first pixel alone the image is of class 0, by the mean of its copies of class 1.
    const test = { images: Uint8Array.of(9, 0, 0, 0), shape: [1, 2, 2] as const, labels: Int32Array.of(1) }
    const predict = async (images: Uint8Array) => Float32Array.of(images[0]!, 3)
    expect(await accuracyByCopies(predict, test, [COPIES[0]!])).to.equal(0)
    expect(await accuracyByCopies(predict, test)).to.equal(1)
  })
})

describe('The record', () => {
  let folder: string
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'arbalest-record-test-'))))
  afterEach(() => rmSync(folder, { recursive: true }))

  it('takes words, and refuses those that it does not know', () => {
    expect(asked([])).to.deep.equal({ precision: 'bf16', runs: 20, recipe: RECIPE })
    expect(asked(['epochs12']).recipe).to.deep.equal({ ...RECIPE, epochs: 12 })
    const small = asked(['cpu f32', 'n3', 'narrow8', 'steps4'])
    expect(small).to.deep.include({ backend: 'cpu', precision: 'f32', runs: 3, steps: 4 })
    expect(small.recipe.widths).to.deep.equal([8, 32, 32])
    expect(() => asked(['n0']))
      .to.throw('n0')
      .with.property('code', 'UNKNOWN_NAME')
    expect(() => asked(['cpu', 'cuda']))
      .to.throw('cpu cuda')
      .with.property('code', 'INVALID_OPTION')
  })

  it('is mean and spread of the runs', () => {
    expect(figuresOf([1, 2, 6])).to.deep.equal({ n: 3, mean: 3, median: 2, min: 1, max: 6, std: Math.sqrt(7) })
    expect(figuresOf([4])).to.include({ n: 1, std: null })
    const summary = summaryOf([result(3, 0.9399), result(5, 0.9401)])!
    expect(summary.reached).to.equal(0.5)
    expect(summary.seconds).to.include({ n: 2, mean: 4 })
    expect(summary.wallSeconds.mean).to.equal(5)
    expect(summaryOf([])).to.equal(undefined)
  })

  it('reads what a side tells of a run, and refuses a line without a number', () => {
    const line = JSON.parse('{"seconds": 3.2, "wallSeconds": 5.5, "accuracy": 0.9402, "plainAccuracy": 0.93}') as Record<string, unknown>
    expect(resultIn(line)).to.deep.equal(line)
    expect(() => resultIn({ ...line, accuracy: null }))
      .to.throw('accuracy')
      .with.property('code', 'INTERNAL')
  })

  describe('in turns', () => {
    let told: string[]
    let open: number
    beforeEach(() => {
      told = []
      open = 0
    })
    afterEach(() => expect(open).to.equal(0))

    function side(contestant: Contestant, fails: readonly number[] = []): () => Promise<Runner> {
      return async () => {
        told.push(`${contestant} starts`)
        open++
        return {
          run: async (seed) => {
            told.push(`${contestant} ${seed}`)
            if (fails.includes(seed)) throw new RangeError(`no run ${seed}`)
            return result(seed)
          },
          close: () => void open--
        }
      }
    }

    const options = (more: Partial<ContestOptions> = {}): ContestOptions => ({
      journal: new Journal(PLACE, SETTINGS, folder),
      runs: 2,
      starts: { arbalest: side('arbalest'), airbench94: side('airbench94') },
      allowance: new Allowance(),
      onRun: () => undefined,
      ...more
    })

    it('trains both sides seed by seed, and goes on where it was cut off', async () => {
      await contest(options())
      expect(told).to.deep.equal(['arbalest starts', 'arbalest 1', 'airbench94 starts', 'airbench94 1', 'arbalest 2', 'airbench94 2'])
      appendFileSync(join(folder, 'bench-record.jsonl'), '{"commit":"abc","contes')
      told = []
      const given = options({ runs: 3 })
      await contest(given)
      expect(told).to.deep.equal(['arbalest starts', 'arbalest 3', 'airbench94 starts', 'airbench94 3'])
      expect(readFileSync(join(folder, 'bench-record.jsonl'), 'utf8')).to.match(/^({.*}\n){6}$/)
      expect(given.journal.results('airbench94').map(({ seed, seconds }) => [seed, seconds])).to.deep.equal(
        [1, 2, 3].map((seed) => [seed, seed])
      )
      expect(latestJournal(folder)!.results('arbalest')).to.have.length(3)
    })

    it('puts no runs of another commit, GPU or recipe beside them', async () => {
      await contest(options())
      for (const place of [
        { ...PLACE, commit: 'def' },
        { ...PLACE, device: 'another' }
      ])
        expect(new Journal(place, SETTINGS, folder).results('arbalest')).to.deep.equal([])
      const other = new Journal(PLACE, { ...SETTINGS, recipe: { ...RECIPE, epochs: 9 } }, folder)
      expect(other.results('arbalest')).to.deep.equal([])
      expect(other.results('airbench94')).to.have.length(2)
    })

    it('goes on after a run that failed, and tries it once more in the next start', async () => {
      const starts = { arbalest: side('arbalest', [1]) }
      for (const tries of [1, 1, 0]) {
        told = []
        const given = options({ starts })
        await contest(given)
        expect(told.filter((line) => line === 'arbalest 1')).to.have.length(tries)
        expect(given.journal.failed('arbalest')[0]).to.include({ seed: 1, failure: 'no run 1' })
        expect(given.journal.results('arbalest')).to.have.length(1)
      }
    })

    it('begins no run that would hardly end in time, but for the first', async () => {
      const slow: Runner = { run: (seed) => new Promise((resolve) => setTimeout(() => resolve(result(seed)), 60)), close: () => undefined }
      const given = options({ allowance: new Allowance(0.1 / 60), starts: { arbalest: async () => slow } })
      const error = await contest(given).then(
        () => undefined,
        (thrown: unknown) => thrown
      )
      expect(error).to.be.instanceOf(OutOfTime)
      expect(given.journal.results('arbalest')).to.have.length(1)
    })
  })

  it('trains on a CPU and leaves airbench94 out, in few steps of a narrow network', function () {
    this.timeout(300_000)
    const data = join(folder, 'cifar-10')
    mkdirSync(data)
    // The records of each file are the same.
    const records = Buffer.alloc(10_000 * (1 + PIXELS))
    for (let i = 0; i < 10_000; i++)
      records.fill(i % 251, i * (1 + PIXELS) + 1, (i + 1) * (1 + PIXELS)).writeUInt8(i % 10, i * (1 + PIXELS))
    const packed = gzipSync(records, { level: 1 })
    for (const name of ['data_batch_1', 'data_batch_2', 'data_batch_3', 'data_batch_4', 'data_batch_5', 'test_batch'])
      writeFileSync(join(data, `${name}.bin.gz`), packed)
    const args = ['record', 'cpu', 'f32', 'narrow32', 'steps3', 'n1', '--json', '--out', folder]
    const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
      encoding: 'utf8',
      env: { ...process.env, ARBALEST_DATA: folder }
    })
    expect(status, stderr).to.equal(0)
    expect(stderr).to.include('airbench94 is left out: it trains on a GPU alone')
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines).to.have.length(2)
    const [run, summary] = lines as [Record<string, unknown>, Record<string, unknown>]
    expect(run).to.include({ contestant: 'arbalest', seed: 1, iterations: 3 })
    for (const name of ['accuracy', 'plainAccuracy']) expect(run[name]).to.be.within(0, 1)
    const parts = ['initialWeightsSeconds', 'trainingSeconds', 'measuringSeconds'].map((name) => run[name] as number)
    for (const part of parts) expect(part).to.be.above(0)
    expect(run['seconds']).to.be.closeTo(
      parts.reduce((sum, part) => sum + part),
      1e-6
    )
    expect(run['seconds']).to.be.below(run['wallSeconds'] as number)
    expect(summary).to.have.nested.property('accuracy.n', 1)
    expect(latestJournal(folder)!.results('arbalest')).to.have.length(1)
  })
})

describe('airbench94 as a peer', function () {
  this.timeout(240_000)

  it('says in a line whether it can train here', function () {
    if (python('--version').status !== 0) skip(this, `no ${PYTHON} here`)
    const { status, stdout, stderr } = python('airbench_train.py', '--check')
    expect(status, stderr).to.equal(0)
    const told = JSON.parse(stdout) as { ready: boolean; why: string | null }
    expect(told.ready ? told.why : typeof told.why).to.equal(told.ready ? null : 'string')
  })

  it('gets its images, and its figures are found, with a CPU in the place of the GPU', function () {
    const needs = `import importlib.util, torch; assert importlib.util.find_spec('airbench')`
    if (python('-c', needs).status !== 0) skip(this, `no ${PYTHON} here with PyTorch and airbench; run bench/peers/setup`)
    const { status, stdout, stderr } = python(CHECK)
    expect(status, stderr).to.equal(0)
    expect(stdout.match(/^ok /gm)).to.have.length(4)
  })
})
