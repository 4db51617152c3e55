import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { openDataset, train, type Dataset, type TrainOptions } from '../../src/index.js'
import { rejection } from '../support/rejection.js'

interface TraceEvent {
  readonly ph: string
  readonly name: string
  readonly tid: number
  readonly ts: number
  readonly dur: number
  readonly args: Readonly<Record<string, unknown>>
}

/** Whoever is second sleeps after each step. */
const ONE_IS_SLOW = learnerThat('if (rank === 1) await sleep(20)')

function learnerThat(does: string): URL {
  const text = `const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))
    export default ({ replica, rank }) => {
      let steps = 0
      return async () => { await replica.run(1); ${does}; steps++ }
    }`
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`)
}

describe('a traced job', () => {
  let data: Dataset
  let folder: string
  let file: string
  before(async () => {
    data = await openDataset('digits', { samples: 500 })
    folder = mkdtempSync(join(tmpdir(), 'trace-'))
    file = join(folder, 'trace.json')
  })
  after(() => rmSync(folder, { recursive: true }))

  async function traced(options: Partial<TrainOptions> = {}): Promise<TraceEvent[]> {
    const common = { model: 'logistic-regression', data, learners: 2, batch: 8, until: { steps: 100 }, trace: file } as const
    await train({ ...common, ...options }).finished
    return JSON.parse(readFileSync(file, 'utf8')) as TraceEvent[]
  }

  /** The spans of each row, by its name. */
  function rows(events: readonly TraceEvent[]): Map<string, TraceEvent[]> {
    const names = new Map(events.filter(({ name }) => name === 'thread_name').map(({ tid, args }) => [tid, String(args['name'])]))
    const found = new Map<string, TraceEvent[]>()
    for (const event of events) {
      const name = names.get(event.tid)
      if (event.ph === 'X' && name !== undefined) found.set(name, [...(found.get(name) ?? []), event])
    }
    return found
  }

  const total = (spans: readonly TraceEvent[], name: string) =>
    spans.filter((span) => span.name === name).reduce((sum, { dur }) => sum + dur, 0)

  it('has a row an actor, whose spans nest and do not overlap otherwise', async () => {
    const schedule = [
      { round: 0, learners: 2 },
      { round: 30, learners: 3 }
    ]
    const found = rows(await traced({ learners: { schedule }, trace: { file, steps: 5 }, until: { steps: 2000 } }))
    expect([...found.keys()]).to.include.members(['learner 0', 'learner 1', 'learner 2', 'evaluation', 'supervisor', 'synchroniser'])
    for (const [row, spans] of found) {
      // A span that begins with another and is longer holds it.
      const sorted = spans.toSorted((a, b) => a.ts - b.ts || b.dur - a.dur)
      const open: number[] = []
      for (const { name, ts, dur } of sorted) {
        while (open.length > 0 && open.at(-1)! <= ts + 0.002) open.pop()
        if (open.length > 0) expect(ts + dur, `${name} of ${row}`).to.be.at.most(open.at(-1)! + 0.002)
        open.push(ts + dur)
      }
    }
    expect(total(found.get('supervisor')!, 'change of the population')).to.be.greaterThan(0)
    const first = found.get('learner 0')!
    for (const name of ['step', 'load', 'forward', 'backward', 'exchange', 'update'])
      expect(first.filter((span) => span.name === name).length, name).to.be.at.least(5)
    const steps = first.map(({ args }) => Number(args?.['steps'] ?? 0)).reduce((sum, each) => sum + each)
    expect(steps + 5).to.equal(2000)
  })

  it('shows by its file name alone who loads, averages, meets and measures', async () => {
    const found = rows(await traced({ until: { steps: 2000 } }))
    for (const learner of ['learner 0', 'learner 1']) {
      const spans = found.get(learner)!
      const times = (name: string) => spans.filter((span) => span.name === name).length
      // A segment that has to wait for the others is a span each time that it is tried.
      expect(times('step'), learner).to.equal(20)
      for (const segment of ['load', 'exchange']) expect(times(segment), `${segment} of ${learner}`).to.be.at.least(20)
      expect(total(spans, 'load'), learner).to.be.greaterThan(0)
      // Beyond these steps it is told call by call.
      expect(
        spans.map(({ args }) => Number(args?.['steps'] ?? 0)).reduce((sum, each) => sum + each),
        learner
      ).to.equal(1980)
    }
    expect(total(found.get('evaluation')!, 'evaluation')).to.be.greaterThan(0)
    const averaged = found.get('averaging')!
    const first = Number(/^round (\d+)$/.exec(averaged[0]!.name)![1])
    // Those before anybody looked are not there.
    expect(first).to.be.below(20)
    expect(averaged.map(({ name }) => name)).to.deep.equal(averaged.map((_, i) => `round ${first + i}`))
    expect(averaged.length + first).to.equal(2000)
    expect(averaged.reduce((sum, { dur }) => sum + dur, 0)).to.be.greaterThan(0)
  })

  it('shows averaging bucket by bucket, where that goes on under the backward pass', async () => {
    const found = rows(
      await traced({ model: 'resnet20', synchroniser: 'ssgd', batch: 16, until: { steps: 25 }, trace: { file, steps: 0 } })
    )
    const spans = found.get('averaging')!.toSorted((a, b) => a.ts - b.ts)
    const rounds = new Set(spans.map(({ name }) => name)).size
    expect(spans.length).to.be.greaterThan(rounds)
    // What lies between two buckets is somebody's backward pass.
    const [first, last] = [spans[0]!, spans.at(-1)!]
    const passes = spans.reduce((sum, { dur }) => sum + dur, 0)
    expect(passes / (last.ts + last.dur - first.ts)).to.be.below(0.25)
  })

  it('shows no segments where none are asked for', async () => {
    const found = rows(await traced({ trace: { file, steps: 0 } }))
    expect(found.get('learner 0')!.filter(({ name }) => name === 'load' || name === 'step')).to.be.empty
  })

  it('trains to the same weights as one that is not', async () => {
    const optimiser = { learningRate: 0.05, accumulate: 3 }
    const options = { model: 'mlp', data, learners: 2, batch: 8, until: { steps: 30 }, optimiser } as const
    const plain = await train(options).finished
    const seen = await train({ ...options, trace: file }).finished
    expect(seen.weightsSha256).to.equal(plain.weightsSha256)
  })

  it('gives learners of one’s own the same figures as one that is not', async () => {
    const learner = new URL(
      `data:text/javascript,${encodeURIComponent(`export default ({ options, replica }) => async () => {
        const { correctSum, lossSum } = await replica.run(1)
        options[0] += correctSum
        options[1] += lossSum
      }`)}`
    )
    const figures = async (trace?: string) => {
      const learnerOptions = new Float64Array(new SharedArrayBuffer(16))
      const until = { steps: 30 }
      await train({ model: 'mlp', data, learners: 1, batch: 8, learner, learnerOptions, until, ...(trace && { trace }) }).finished
      return [...learnerOptions]
    }
    const plain = await figures()
    expect(plain[0]).to.be.greaterThan(0)
    expect(await figures(file)).to.deep.equal(plain)
  })

  it('shows who is slow: the other waits for it', async () => {
    const found = rows(await traced({ learner: ONE_IS_SLOW, until: { steps: 40 }, trace: { file, steps: 0 } }))
    // Rounds are looked at ten times a second, which sees nothing of a run that is over sooner.
    expect(found.get('synchroniser')![0]!.name).to.match(/^rounds 0 to /)
    expect(total(found.get('learner 0')!, 'waiting')).to.be.greaterThan(40 * 10_000)
    expect(total(found.get('learner 1')!, 'waiting')).to.be.lessThan(40 * 10_000)
  })

  for (const [rule, synchroniser, ahead] of [
    ['bsp', { name: 'downpour', bound: 'bsp' }, 1],
    ['ssp', { name: 'downpour', bound: 'ssp', slack: 3 }, 4],
    ['local-sgd', { name: 'local-sgd', period: 8 }, 0],
    ['asp', { name: 'downpour', bound: 'asp' }, Infinity]
  ] as const)
    it(`shows that who is slow slows the other no more than ${rule} requires`, async () => {
      const found = rows(await traced({ learner: ONE_IS_SLOW, synchroniser, until: { steps: 40 }, trace: { file, steps: 0 } }))
      const [quick, slow] = [found.get('learner 0')!, found.get('learner 1')!]
      const steps = (spans: readonly TraceEvent[]) => spans.reduce((sum, { args }) => sum + Number(args?.['steps'] ?? 0), 0)
      expect(steps(quick) + steps(slow)).to.equal(80)
      expect(steps(quick) - steps(slow)).to.be.within(0, ahead)
      // Each of the other's steps takes 20 ms; without a bound it waits for none of them, but for what is handed out at a rest.
      if (ahead < Infinity) expect(total(quick, 'waiting')).to.be.greaterThan(steps(slow) * 10_000)
      else {
        expect(steps(quick)).to.be.greaterThan(2 * steps(slow))
        expect(total(quick, 'waiting')).to.be.lessThan(3 * 20_000)
      }
    })

  it('is refused before any work where its file cannot be written', async () => {
    const error = await rejection(train({ model: 'mlp', data, trace: join(folder, 'no', 'where') }).finished)
    expect(error).to.include({ code: 'WRITE_FAILED' })
  })
})

describe('a slow learner', () => {
  let data: Dataset
  before(async () => (data = await openDataset('digits', { samples: 500 })))

  const secondsOf = async (learner: URL, period: number) => {
    const job = train({
      model: 'logistic-regression',
      data,
      learners: 2,
      batch: 8,
      synchroniser: { period },
      until: { steps: 80 },
      learner
    })
    return (await job.finished).seconds
  }

  it('slows a run to its own pace and no further', async () => {
    const both = await secondsOf(learnerThat('await sleep(20)'), 1)
    const one = await secondsOf(ONE_IS_SLOW, 1)
    expect(one / both).to.be.at.most(1.25)
  })

  it('holds up nobody within a round: delays of different steps overlap', async () => {
    // Every eighth step of each takes 40 ms: never the same of both, or always. One after another they would take twice as long.
    const turns = learnerThat('if (steps % 8 === 4 * rank) await sleep(40)')
    const together = learnerThat('if (steps % 8 === 0) await sleep(40)')
    expect((await secondsOf(turns, 8)) / (await secondsOf(together, 8))).to.be.at.most(1.5)
  })
})
