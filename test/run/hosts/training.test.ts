import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FinishedEvent, JobEvent } from '../../../src/observe/events.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import type { Job } from '../../../src/run/job.js'
import { trainWith } from '../../../src/run/train.js'
import { usableCores } from '../../../src/engine/machine.js'
import type { Death } from '../../fakes/dying-learner.js'
import { refused } from '../../support/codes.js'
import { skip } from '../../support/skip.js'

const SHORT: TrainOptions = { model: 'mlp', data: 'digits', learners: 4, batch: 8, seed: 5, until: { steps: 30 }, evaluateEvery: 0.05 }

let runs = 0

interface Hosts {
  readonly size?: number
  /** Options of the last host that the others do not have, and its learners. */
  readonly other?: Partial<TrainOptions>
  readonly learner?: URL
}

/** A run over hosts that are threads of this process. */
function together(options: TrainOptions, { size = 2, other = {}, learner }: Hosts = {}): Job[] {
  const name = `training ${process.pid} ${runs++}`
  return Array.from({ length: size }, (_, rank) => {
    const isLast = rank === size - 1
    const hosts = { kind: 'threads', name, rank, size, deadline: 20 } as const
    return trainWith(isLast ? { ...options, ...other } : options, { hosts, ...(isLast && learner && { learner }) })
  })
}

async function ends(jobs: readonly Job[]): Promise<FinishedEvent[]> {
  return Promise.all(jobs.map(({ finished }) => finished))
}

async function alone(options: TrainOptions): Promise<FinishedEvent> {
  return trainWith(options, {}).finished
}

async function eventsOf(job: Job): Promise<JobEvent[]> {
  const events: JobEvent[] = []
  for await (const event of job) events.push(event)
  return events
}

describe('A run over hosts', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'arbalest-hosts-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  for (const synchroniser of ['sma', 'easgd', 'ssgd', 'local-sgd', 'slowmo', 'polyak-ruppert'] as const)
    it(`ends with the weights of as many devices of one process: ${synchroniser}`, async function () {
      if (usableCores() < 2) skip(this, 'two devices need two cores')
      const options: TrainOptions = { ...SHORT, synchroniser }
      const [first, second] = await ends(together(options))
      const { weightsSha256 } = await alone({ ...options, devices: 2 })
      expect(first!.weightsSha256).to.equal(weightsSha256)
      expect(first).to.include({ iterations: 30, learners: 4, hosts: 2, reason: 'completed' })
      expect(second).to.deep.equal(first)
    })

  it('ends with the same weights when the learners are not as many on each host', async () => {
    const options: TrainOptions = { ...SHORT, learners: 5 }
    const hashes = await Promise.all([0, 1].map(async () => (await ends(together(options, { size: 3 })))[0]!.weightsSha256))
    expect(hashes[0]).to.equal(hashes[1])
  })

  it('speaks on its first host alone, and gives each host the trained model', async () => {
    const jobs = together(SHORT)
    const [first, second] = await Promise.all(jobs.map(eventsOf))
    expect(first!.map(({ event }) => event)).to.include.members(['started', 'evaluated', 'finished'])
    expect(first!.find(({ event }) => event === 'started')).to.include({ hosts: 2, learners: 4 })
    expect(second!.map(({ event }) => event)).to.deep.equal(['finished'])
    const [one, two] = await Promise.all(jobs.map(({ model }) => model.weights()))
    expect(one).to.deep.equal(two)
  })

  it('measures and reports the learners of all hosts', async () => {
    const events = await eventsOf(together({ ...SHORT, until: { steps: 60 } })[0]!)
    const progress = events.filter((event) => event.event === 'progress')
    expect(progress.at(-1)).to.include({ iteration: 60, learners: 4 })
  })

  it('is refused before its first round where a host would train something else', async () => {
    const jobs = together(SHORT, { other: { seed: 6 } })
    await refused('HOSTS_DIFFER', () => jobs[0]!.finished, 'seed: rank 1', 'has 6', 'has 5')
    await refused('HOSTS_DIFFER', () => jobs[1]!.finished, 'seed: rank 1')
  })

  it('fails on all hosts with the error of the one that fails', async () => {
    const learner = new URL('../../fakes/failing-learner.js?how=start', import.meta.url)
    const jobs = together(SHORT, { learner })
    await refused('LEARNER_FAILED', () => jobs[0]!.finished, 'hosts: rank 1: ', 'told to fail')
    await refused('LEARNER_FAILED', () => jobs[1]!.finished, 'told to fail')
  })

  it('goes on when a learner of any host dies', async () => {
    const learner = new URL('../../fakes/dying-learner.js', import.meta.url)
    const death: Death = { how: 'throw', victim: 1, after: 20, thread: new SharedArrayBuffer(4) }
    const jobs = together({ ...SHORT, learner, learnerOptions: death, until: { steps: 60 } })
    const events = await eventsOf(jobs[0]!)
    expect(events.filter(({ event }) => event === 'learnerLost')).to.have.length(2)
    expect(events.at(-1)).to.include({ event: 'finished', reason: 'completed', iterations: 60 })
    const [one, two] = await Promise.all(jobs.map(({ model }) => model.weights()))
    expect(one).to.deep.equal(two)
  })

  it('stops on all hosts when the user of one asks for it', async () => {
    const jobs = together({ ...SHORT, until: { steps: 1_000_000 } })
    jobs[0]!.once('progress', () => jobs[1]!.stop())
    const [first, second] = await ends(jobs)
    expect(first!.reason).to.equal('stopped')
    expect(second).to.deep.equal(first)
  })

  it('goes on from a checkpoint bit by bit on as many hosts, and on another number', async () => {
    const options: TrainOptions = { ...SHORT, until: { steps: 60 } }
    const [whole] = await ends(together(options))
    const checkpoint = { dir: join(folder, 'run') }
    await ends(together({ ...options, until: { steps: 30 }, checkpoint }))
    // The hosts but the first one need no access to the folder.
    const elsewhere = { dir: join(folder, 'nowhere') }
    const [resumed] = await ends(together({ ...options, checkpoint }, { other: { checkpoint: elsewhere } }))
    expect(resumed!.weightsSha256).to.equal(whole!.weightsSha256)
    const longer: TrainOptions = { ...options, until: { steps: 90 }, checkpoint }
    const [more] = await ends(together(longer, { size: 4 }))
    expect(more).to.include({ iterations: 90, reason: 'completed', hosts: 4 })
    expect(await alone({ ...longer, until: { steps: 100 } })).to.include({ iterations: 100, reason: 'completed' })
  })

  it('begins again on all hosts with lower rates when the loss is not finite', async () => {
    const onNaN = { learningRateFactor: 1e-30, retries: 1 }
    const events = await eventsOf(together({ ...SHORT, optimiser: { learningRate: 1e28 }, onNaN })[0]!)
    expect(events.map(({ event }) => event)).to.include('wentBack')
    expect(events.at(-1)).to.include({ event: 'finished', reason: 'completed' })
  })
})
