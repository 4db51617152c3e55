import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import type { Dataset } from '../../src/data/dataset.js'
import { openDataset } from '../../src/data/open.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import { train } from '../../src/run/train.js'
import type { Findings } from '../fakes/inquisitive-learner.js'
import { someRoundsLater } from '../run/support/talked-to.js'
import { refused } from '../support/codes.js'

describe('a learner of the user', () => {
  let data: Dataset
  before(async () => (data = await openDataset('digits', { samples: 500 })))

  const options = (learner: URL | string, more: Partial<TrainOptions> = {}): TrainOptions => ({
    model: 'logistic-regression',
    data,
    learners: 1,
    batch: 8,
    until: { steps: 60 },
    supervision: { restarts: 0 },
    learner,
    ...more
  })
  const source = (text: string) => new URL(`data:text/javascript,${encodeURIComponent(text)}`)

  it('has its replica, other programs over its weights, a learning rate and samples of its own, and teachers', async () => {
    const learner = new URL('../fakes/inquisitive-learner.js', import.meta.url)
    const { cause } = await refused('LEARNER_FAILED', () => train(options(learner, { learnerOptions: 'hello', seed: 4 })).finished)
    const found = JSON.parse((cause as Error).message) as Findings
    expect(found).to.deep.include({ rank: 0, learners: 1, seed: 4, samples: data.train.count, iterations: 60, greeting: 'hello' })
    expect(found.outputShape).to.deep.equal([8, 10])
    expect(found.moved).to.equal(0)
    expect(found.after).to.be.lessThan(0.8 * found.before)
    expect(found.refusedInside).to.equal('INVALID_STATE')
    expect(found.teacher).to.be.lessThan(1e-5)
  })

  it('gives exactly the weights of the built-in learner if it does the same, segment by segment', async () => {
    const step = `await replica.load(); await replica.forward(); await replica.backward(); await replica.exchange(); await replica.update()`
    const steps = source(`export default ({ replica }) => async () => { ${step} }`)
    const byName = source(`export const Learner = ({ replica }) => ({ async step() { ${step} } })`)
    const hashes = await Promise.all(
      [undefined, steps, byName].map(async (learner) => {
        const { learner: _, ...plain } = options('', { learners: 2, synchroniser: { period: 3 } })
        return (await train({ ...plain, ...(learner && { learner }) }).finished).weightsSha256
      })
    )
    expect(new Set(hashes).size).to.equal(1)
  })

  it('may be a class that a compiler has made CommonJS of, and makes no step once it is stopped, whatever it has caught', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arbalest learner '))
    const file = join(folder, 'learner.cjs')
    const compiled = `
      Object.defineProperty(exports, '__esModule', { value: true })
      exports.default = class {
        constructor({ replica, options }) { Object.assign(this, { replica, counts: new Int32Array(options) }) }
        async step() {
          this.counts[0]++
          try { await this.replica.run(1) } catch {}
        }
        async stopping() {
          const steps = this.counts[0]
          await new Promise((resolve) => setTimeout(resolve, 50))
          this.counts[1] = this.counts[0] - steps
        }
      }`
    await writeFile(file, compiled)
    const counts = new Int32Array(new SharedArrayBuffer(8))
    const job = train(options(file, { until: { steps: 3 }, learnerOptions: counts.buffer }))
    expect((await job.finished).iterations).to.equal(3)
    expect(counts[0]).to.be.at.least(3)
    expect(counts[1]).to.equal(0)
    await rm(folder, { recursive: true })
  })

  it('is stopped at the same time as the others: what they do at their end does not add up', async () => {
    const learner = source(`export default ({ replica, options }) => ({
      step: () => replica.run(1),
      async stopping() {
        const counts = new Int32Array(options)
        Atomics.add(counts, 0, 1)
        while (Atomics.load(counts, 0) < 3) await new Promise((resolve) => setTimeout(resolve, 5))
        Atomics.add(counts, 1, 1)
      }
    })`)
    const counts = new Int32Array(new SharedArrayBuffer(8))
    await train(options(learner, { learners: 3, until: { steps: 3 }, learnerOptions: counts.buffer })).finished
    expect(counts[1]).to.equal(3)
  })

  it('has the file and the line of its own in its errors, whether they are thrown, called for, or of its syntax', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arbalest learner '))
    const faulty = async (name: string, lines: readonly string[], line: number, said: string) => {
      const file = join(folder, name)
      await writeFile(file, lines.join('\n'))
      await refused('LEARNER_FAILED', () => train(options(pathToFileURL(file))).finished, `${said} (at ${file}:${line})`)
    }
    const learner = (step: string) => [
      'export default class {',
      '  constructor(context) {',
      '    this.context = context',
      '  }',
      '',
      `  ${step}`,
      '}'
    ]
    const typed = [
      'interface Point {',
      '  x: number',
      '}',
      '',
      'export default () => () => {',
      '  const none = undefined as unknown as Point',
      '',
      '  return none.x',
      '}'
    ]
    try {
      await faulty('thrown.mjs', learner('async step() { await null; this.context.none.run() }'), 6, "reading 'run')")
      await faulty('typed.ts', typed, 8, "reading 'x')")
      await faulty(
        'called.mjs',
        learner('step() { return this.context.replica.run(-3) }'),
        6,
        'steps: received -3; use a whole number of at least 1'
      )
      await faulty('syntax.mjs', learner('step() { let a = ; }'), 6, "it cannot be loaded: Unexpected token ';'")
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  for (const [segments, missing] of [
    [['load', 'update'], 'forward'],
    [['load', 'backward', 'exchange', 'update'], 'forward'],
    [['load', 'forward', 'exchange', 'update'], 'backward'],
    [['load', 'forward', 'backward', 'update'], 'exchange']
  ] as const)
    it(`is told that its step has no ${missing} if it calls only ${segments.join(', ')}`, async () => {
      const calls = segments.map((segment) => `await replica.${segment}()`).join('; ')
      const learner = source(`export default ({ replica }) => async () => { ${calls} }`)
      const { cause } = await refused('LEARNER_FAILED', () => train(options(learner)).finished, `the step has had no ${missing}`)
      expect(cause).to.include({ code: 'INVALID_STATE' })
    })

  it('is told that a further program needs a mode', async () => {
    const learner = source(`export default ({ replica }) => ({ step: () => replica.program() })`)
    const { cause } = await refused('LEARNER_FAILED', () => train(options(learner)).finished, 'program: received nothing')
    expect(cause).to.include({ code: 'INVALID_OPTION' })
  })

  it('is told that it cannot make a step while it starts', async () => {
    for (const early of ['run(1)', 'load()']) {
      const learner = source(`export default ({ replica }) => ({ started: () => replica.${early}, step: () => replica.run(1) })`)
      const { cause } = await refused('LEARNER_FAILED', () => train(options(learner)).finished, 'has not begun to train')
      expect(cause).to.include({ code: 'INVALID_STATE' })
    }
  })

  it('is told that it cannot make a step for the answer to a message, and goes on', async () => {
    const learner = source(`export default ({ replica }) => ({
      step: () => replica.run(1),
      async early() { await replica.run(1) },
      later() { setTimeout(() => replica.run(1).catch(() => {})) }
    })`)
    // However fast the machine, the run does not end before.
    await using job = train(options(learner, { until: { steps: 1e6 } }))
    await new Promise((resolve) => job.on('started', resolve))
    const { ask } = job.actors.learner<{ early(): Promise<void>; later(): void }>(0)
    await refused('INVALID_STATE', () => ask.early(), 'all learners rest while one handles a message')
    await ask.later()
    await someRoundsLater(job, 10)
    job.stop()
    expect(await job.finished).to.include({ reason: 'stopped' })
  })

  it('may compute its gradients or its weights itself', async () => {
    const learner = source(`export default ({ replica }) => async () => {
      await replica.load()
      const gradients = replica.vector('gradients')
      replica.setVector('gradients', gradients.fill(0.01))
      await replica.exchange()
      await replica.update()
    }`)
    expect((await train(options(learner)).finished).iterations).to.equal(60)
  })

  it('runs all batches of a step if gradients are accumulated, and is refused a step with fewer', async () => {
    const batch = `await replica.load(); await replica.forward(); await replica.backward()`
    const learner = (batches: string, end = 'await replica.exchange(); await replica.update()') =>
      source(`export default ({ replica }) => async () => { for (let i = 0; i < ${batches}; i++) { ${batch} } ${end} }`)
    const accumulated = (given: URL | undefined) => {
      const { learner: _, ...plain } = options('', { learners: 2, until: { steps: 20 }, optimiser: { learningRate: 0.05, accumulate: 3 } })
      return train({ ...plain, ...(given && { learner: given }) }).finished
    }
    const [built, own] = [await accumulated(undefined), await accumulated(learner('replica.accumulate'))]
    expect(own.weightsSha256).to.equal(built.weightsSha256)
    for (const [few, segment] of [
      [learner('2'), 'exchange'],
      [learner('1', 'await replica.update()'), 'update']
    ] as const) {
      const { cause } = await refused('LEARNER_FAILED', () => accumulated(few), `${segment}: the step has had`)
      expect(cause).to.include({ code: 'INVALID_STATE' })
    }
  })

  it('knows its own iteration, whatever the others are at: results that depend on it are the same in every run', async () => {
    // Two learners that do not wait within a round: they are slow in turns, each in every other round.
    const learner = source(`export default ({ replica, rank, iteration, samples }) => async () => {
      const from = iteration()
      if (from % 16 < 8 === (rank === 0)) await new Promise((resolve) => setTimeout(resolve, Math.random() * 4))
      if (iteration() !== from) throw new Error('it changed before a step')
      await replica.load({ samples: Array.from({ length: replica.batch }, (_, i) => (from * 7 + i * (rank + 1)) % samples) })
      if (iteration() !== from) throw new Error('it changed within a step')
      await replica.forward(); await replica.backward(); await replica.exchange(); await replica.update()
    }`)
    const hashes = new Set<string>()
    for (let i = 0; i < 5; i++)
      hashes.add((await train(options(learner, { learners: 2, until: { steps: 48 }, synchroniser: { period: 8 } })).finished).weightsSha256)
    expect(hashes.size).to.equal(1)
  })

  it('may be a TypeScript file, named by its path', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'learner-'))
    const file = join(folder, 'mine.ts')
    await writeFile(file, `import type { LearnerContext } from 'arbalest'\nexport default (c: LearnerContext) => () => c.replica.run(5)\n`)
    try {
      expect((await train(options(file)).finished).iterations).to.equal(60)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('is told a learning rate that is no number where it sets it', async () => {
    for (const [rate, told] of [
      ['"0.1"', '"0.1"'],
      ['null', 'null'],
      ['-1', '-1']
    ] as const) {
      const learner = source(`export default ({ replica }) => async () => { replica.learningRate = ${rate}; await replica.run(1) }`)
      await refused('LEARNER_FAILED', () => train(options(learner)).finished, `learningRate: received ${told}; use a number of at least 0`)
    }
  })

  it('is refused if its module has none', async () => {
    for (const [text, word] of [
      ['export const rate = 3', 'it exports rate'],
      ['export default { step() {} }', 'it exports a default of type object; export a class or a function as the default'],
      ['export default class { constructor() {} }', 'no method `step`'],
      ['export default ({ replica }) => 5', 'no method `step`']
    ] as const) {
      const { cause } = await refused('LEARNER_FAILED', () => train(options(source(text))).finished, word)
      expect(cause).to.include({ code: 'INVALID_OPTION' })
    }
  })

  it('fails within two seconds if its constructor throws', async () => {
    const job = train(options(source(`export default class { constructor() { throw new TypeError('a slip of the pen') } }`)))
    const began = performance.now()
    const { cause } = await refused('LEARNER_FAILED', () => job.finished, 'a slip of the pen')
    expect(cause).to.be.instanceOf(TypeError)
    expect(performance.now() - began).to.be.lessThan(2000)
  })
})
