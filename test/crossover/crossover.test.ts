import { expect } from 'chai'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { crossover, openDataset, train, type CrossoverEvent, type CrossoverOptions, type Job, type TrainOptions } from '../../src/index.js'
import { refused } from '../support/codes.js'
import { ifSeldom } from '../support/seldom.js'
import { dyingInTurn } from './support/dying-in-turn.js'

const RULES = ['ssgd', 'sma', 'local-sgd'] as const
/** Drawing all digits would take longer than training. */
const data = await openDataset('digits', { samples: 2000 })
const job = (synchroniser: string, more: Partial<TrainOptions> = {}): TrainOptions => ({
  model: 'mlp',
  data,
  batch: 8,
  learners: 2,
  until: { steps: 160 },
  seed: 5,
  evaluateEvery: 1000,
  hosts: 'loopback',
  link: '1Gbit',
  ...({ synchroniser, ...more } as Partial<TrainOptions>)
})

const solos = new Map<string, Promise<string>>()
function solo(options: TrainOptions): Promise<string> {
  const key = JSON.stringify({ ...options, data: undefined })
  const known = solos.get(key) ?? train(options).finished.then(({ weightsSha256 }) => weightsSha256)
  solos.set(key, known)
  return known
}

async function ofAll(jobs: readonly TrainOptions[], options: CrossoverOptions) {
  const all = crossover(jobs, options)
  const events: CrossoverEvent[] = []
  for await (const event of all) events.push(event)
  return { events, finished: await all.finished }
}

describe('crossover', () => {
  for (const backend of ['cpu', 'cuda-host'] as const)
    it(`gives jobs the weights that they have alone, bit for bit, crossed on ${backend}`, async () => {
      const until = { steps: backend === 'cpu' ? 60 : 10 }
      const jobs = RULES.map((rule) => job(rule, { until, backend: backend as 'cpu' }))
      const { events, finished } = await ofAll(jobs, { policy: 'crossed' })
      for (const [i, each] of jobs.entries()) expect(finished.jobs[i]!.weightsSha256, `job ${i}`).to.equal(await solo(each))
      expect(finished).to.include({ event: 'finished' })
      expect(events.at(-1)).to.equal(finished)
      for (const name of ['started', 'evaluated', 'finished'])
        for (const i of jobs.keys())
          expect(events.some((event) => event.event === name && 'job' in event && event.job === i)).to.equal(true)
      for (const { slowdown, computeSeconds, waitSeconds } of finished.jobs)
        for (const number of [slowdown, computeSeconds, waitSeconds]) expect(number).to.be.finite.and.at.least(0)
    })

  it('takes jobs whose learners add their updates, where they wait for each other', async () => {
    const until = { steps: 40 }
    const adding = job('parameter-server', { until, synchroniser: { name: 'parameter-server', apply: 'updates' } })
    const jobs = [adding, job('ssgd', { until })]
    const { finished } = await ofAll(jobs, { policy: 'crossed' })
    for (const [i, each] of jobs.entries()) expect(finished.jobs[i]!.weightsSha256, `job ${i}`).to.equal(await solo(each))
  })

  it('fails a job under an asynchronous rule of the user’s own, and goes on with the other one', async () => {
    const rule = "export default () => ({ kind: 'asynchronous', exchange: { kind: 'inPlace' }, slack: null, period: 16 })"
    const alone = { hosts: 'none', link: undefined, until: { steps: 40 } } as never
    const own = { ...job('sma', alone), synchroniser: { module: new URL(`data:text/javascript,${encodeURIComponent(rule)}`) } }
    const { finished } = await ofAll([own, job('ssgd', alone)], { policy: 'crossed' })
    expect(finished.jobs[0]!.failed).to.have.property('code', 'INVALID_OPTION')
    expect(finished.jobs[0]!.failed!.message).to.match(/^synchroniser\.module: .*use a synchronous one: learners that never wait/)
    expect(finished.jobs[1]!.weightsSha256).to.equal(await solo(job('ssgd', alone)))
  })

  it('goes on with a job where the other one fails, is evaluated or stops', async () => {
    const other = job('ssgd', { until: { steps: 120 } })
    const failing = job('ssgd', { optimiser: { learningRate: 1e30 } })
    const { events, finished } = await ofAll([failing, other], { policy: 'crossed' })
    expect(events.find(({ event }) => event === 'failed')).to.include({ event: 'failed', job: 0, code: 'LOSS_NOT_FINITE' })
    expect(finished.jobs[0]).to.not.have.property('weightsSha256')
    expect(finished.jobs[0]!.failed).to.include({ code: 'LOSS_NOT_FINITE' })
    expect(finished.jobs[1]).to.not.have.property('failed')
    expect(finished.jobs[1]!.weightsSha256).to.equal(await solo(other))

    const evaluating = job('sma', { until: { epochs: 1000 }, evaluateEvery: 0.1 })
    const pair = crossover([evaluating, other], { policy: 'crossed' })
    pair.jobs[0]!.once('evaluated', () => pair.jobs[0]!.stop())
    const { jobs } = await pair.finished
    expect(jobs[1]!.weightsSha256).to.equal(await solo(other))
    expect((await pair.jobs[0]!.finished).reason).to.equal('stopped')
  })

  for (const [rule, learners, how] of [...ifSeldom(['ssgd', 1, 'throw'] as const), ['ssgd', 1, 'exit'], ['sma', 2, 'exit']] as const)
    it(`goes on where a learner dies by ${how} while it has the device: ${rule}, ${learners}`, async () => {
      await dyingInTurn({ rule, backend: 'cpu', learners, how })
    })

  it('goes on with a job while the other one pauses, is measured, takes checkpoints and gets a learner', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-crossover-'))
    const changing = job('sma', { until: { epochs: 1000 }, checkpoint: { dir: folder, period: 10 } })
    const other = job('ssgd', { until: { steps: 160 } })
    const pair = crossover([changing, other], { policy: 'crossed' })
    const [first, second] = pair.jobs as readonly [Job, Job]
    const { synchroniser, supervisor, evaluator } = first.actors
    const roundsMade = async (rounds: number) => {
      const { round } = await second.actors.synchroniser.ask.status()
      while ((await second.actors.synchroniser.ask.status()).round < round + rounds) await sleep(5)
    }
    const { round } = await synchroniser.ask.pause()
    await roundsMade(15)
    expect(await synchroniser.ask.status()).to.include({ round, paused: true })
    synchroniser.tell.resume()
    const changed = Promise.all([supervisor.ask.resize(3), evaluator.ask.measure()])
    await roundsMade(15)
    await changed
    first.stop()
    await second.finished
    const { jobs } = await pair.finished
    expect(jobs[1]!.weightsSha256).to.equal(await solo(other))
    expect(readdirSync(folder).filter((name) => name.startsWith('checkpoint'))).to.not.have.length(0)
    rmSync(folder, { recursive: true })
  })

  it('has the events that jobs emit before they start', async () => {
    const large = { batch: 2500, learners: 1, dryRun: true }
    for (let times = 0; times < 2; times++) {
      const { events } = await ofAll([job('ssgd', large), job('sma', large)], { policy: 'shared' })
      for (const name of ['warning', 'planned', 'started'])
        expect(
          events.flatMap((event) => (event.event === name && 'job' in event ? event.job : [])),
          name
        ).to.have.members([0, 1])
    }
  })

  it('begins a job when those before it have ended, by sequential, and ends one at once that waits', async () => {
    const endless = { until: { epochs: 10_000 } }
    const last = job('ssgd', { until: { steps: 20 } })
    const all = crossover([job('ssgd', endless), job('sma', endless), last], { policy: 'sequential' })
    const [first, second] = all.jobs as readonly [Job, Job, Job]
    first.once('progress', () => second.stop())
    second.once('finished', () => first.stop())
    const order: string[] = []
    for await (const event of all)
      if ('job' in event && (event.event === 'started' || event.event === 'finished')) order.push(`${event.event} ${event.job}`)
    expect(order).to.deep.equal(['started 0', 'finished 1', 'finished 0', 'started 2', 'finished 2'])
    expect((await all.finished).jobs[2]!.weightsSha256).to.equal(await solo(last))
  })

  it('stops all jobs', async () => {
    const endless = { until: { epochs: 10_000 } }
    const pair = crossover([job('ssgd', endless), job('sma', endless)], { policy: 'crossed' })
    pair.jobs[1]!.once('progress', () => pair.stop())
    await pair.finished
    for (const each of pair.jobs) expect((await each.finished).reason).to.equal('stopped')
  })

  it('refuses jobs that cannot share a device, before any begins', async () => {
    await refused('INVALID_OPTION', () => crossover([job('ssgd')]), 'jobs', 'received 1', 'two or more')
    await refused(
      'INVALID_OPTION',
      () => crossover([job('ssgd'), job('downpour', { hosts: 'none', link: undefined } as never)]),
      'synchroniser',
      'downpour'
    )
    await refused('INVALID_OPTION', () => crossover([job('ssgd'), job('ssgd', { link: '2Gbit' })]), 'jobs[1].link', 'one link')
    expect(() => crossover([job('ssgd', { batch: -1 }), job('ssgd', { seed: -2 })])).to.throw(/jobs\[0\]\.batch: .*\n.*jobs\[1\]\.seed: /)
    await refused('INVALID_OPTION', () => crossover([job('ssgd'), 5 as never]), 'jobs[1]: received 5')
    await refused('UNKNOWN_NAME', () => crossover([job('ssgd'), job('ssgd', { model: 'lenett' })]), 'jobs[1].model', 'lenet')
    await refused('INVALID_OPTION', () => crossover('a' as never), 'jobs: received "a"')
    await refused('INVALID_OPTION', () => crossover([job('ssgd'), job('ssgd', { backend: 'reference' })]), 'jobs[1].backend', 'cpu')
    await refused(
      'INVALID_OPTION',
      () => crossover([job('ssgd'), job('sma')], { share: [1, 2, 3] }),
      'share',
      'received 3',
      'each of the 2'
    )
    await refused('INVALID_OPTION', () => crossover([job('ssgd'), job('sma')], { share: [1, 0] }), 'share')
    await refused('UNKNOWN_NAME', () => crossover([job('ssgd'), job('sma')], { policy: 'both' as never }), 'policy', 'both')
    await refused('INVALID_OPTION', () => crossover([job('ssgd', { link: 'fast' }), job('sma')]), 'link', 'fast', '200Mbit')
    const [traced, kept] = [{ trace: 'both.json' }, { checkpoint: 'both' }]
    await refused(
      'INVALID_OPTION',
      () => crossover([job('ssgd', traced), job('sma', { trace: { file: './both.json' } })]),
      'jobs[1].trace.file',
      'jobs[0] writes there'
    )
    await refused(
      'INVALID_OPTION',
      () => crossover([job('ssgd', kept), job('sma', kept)]),
      'jobs[1].checkpoint.dir',
      'jobs[0] writes there'
    )
    await refused('INVALID_OPTION', () => crossover([job('ssgd', { hosts: 'none' }), job('sma')]), 'link', 'hosts: loopback')
  })
})
