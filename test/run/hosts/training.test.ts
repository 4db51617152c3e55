import { expect } from 'chai'
import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { usableCores } from '../../../src/engine/machine.js'
import { MOST_PER_CORE } from '../../../src/options/learners.js'
import type { StartedEvent } from '../../../src/observe/events.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { poll } from '../../../src/poll.js'
import type { Death } from '../../fakes/dying-learner.js'

import { trainWith } from '../../../src/run/train.js'
import { refused } from '../../support/codes.js'
import { skip } from '../../support/skip.js'
import { alone, ends, eventsOf, SHORT, together } from './support/together.js'

describe('A run over hosts', () => {
  // Without slack a parameter server is synchronous SGD.
  for (const [synchroniser, ofDevices] of [
    ['sma', 'sma'],
    ['ssgd', 'ssgd'],
    ['parameter-server', 'ssgd']
  ] as const)
    it(`ends with the weights of as many devices of one process: ${synchroniser}`, async function () {
      if (usableCores() < 2) skip(this, 'two devices need two cores')
      const [first, second] = await ends(together({ ...SHORT, synchroniser }))
      const { weightsSha256, testAccuracy, testLoss } = await alone({ ...SHORT, synchroniser: ofDevices, devices: 2 })
      // The hosts have shared out the test samples.
      expect(first).to.include({ weightsSha256, testAccuracy })
      expect(first!.testLoss).to.be.closeTo(testLoss, 1e-6)
      expect(first).to.include({ iterations: 30, learners: 4, hosts: 2, reason: 'completed' })
      expect(second).to.deep.equal(first)
    })

  it('ends with the same weights where the owners of chunks apply the rule, and goes on from its checkpoint', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'arbalest-owners-'))
    const adam: TrainOptions = { ...SHORT, synchroniser: 'ssgd', optimiser: { name: 'adam', schedule: 'constant' } }
    const owned: TrainOptions = { ...adam, ruleAt: 'owners' }
    try {
      const [whole] = await ends(together(adam))
      expect((await ends(together({ ...owned, until: { steps: 15 }, checkpoint: { dir } })))[0]).to.include({ iterations: 15 })
      const [resumed, other] = await ends(together({ ...owned, checkpoint: { dir } }))
      expect(resumed).to.include({ iterations: 30, weightsSha256: whole!.weightsSha256 })
      expect(other).to.deep.equal(resumed)
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  it('is refused where owners of chunks would need the norm of the whole gradient, and where one host differs in it', async () => {
    const owned: TrainOptions = { ...SHORT, synchroniser: 'ssgd', ruleAt: 'owners' }
    for (const optimiser of [{ clipNorm: 1 }, { name: 'lars' }] as const)
      await Promise.all(
        together({ ...owned, optimiser }).map((job) =>
          refused('INVALID_OPTION', () => job.finished, 'ruleAt', 'norm of the whole gradient')
        )
      )
    const jobs = together(owned, { other: { ruleAt: 'all' } })
    await Promise.all(jobs.map((job) => refused('HOSTS_DIFFER', () => job.finished, 'ruleAt: rank 1')))
    await refused('INVALID_OPTION', () => trainWith({ ...owned, hosts: 'loopback' }, {}).finished, 'ruleAt', 'loopback')
  })

  it('follows a schedule of learners, to the weights of as many devices of one process', async () => {
    const learners = { schedule: [{ round: 0, learners: 4 }, { round: 7, learners: 6 }, { round: 8, learners: 2 }, { round: 20, learners: 4 }] } // prettier-ignore
    const options: TrainOptions = { ...SHORT, learners }
    const [first] = await ends(together(options))
    const one = await alone({ ...options, devices: 2 })
    expect(first).to.include({ iterations: 30, learners: 4, weightsSha256: one.weightsSha256 })
    expect(first!.population).to.deep.equal(one.population)
  })

  it('goes on with as many learners on all hosts as the first one finds room for, where a program had set more', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'arbalest-fewer-'))
    const options = { ...SHORT, learners: { initial: 2, max: 4, window: 100 }, checkpoint: { dir }, optimiser: { milestones: [] } }
    try {
      const jobs = together({ ...options, until: { steps: 20 } })
      const started = new Promise<StartedEvent>((resolve) => jobs[0]!.once('started', resolve))
      await jobs[0]!.actors.supervisor.ask.resize(6)
      const [before] = await ends(jobs)
      // With what a thread takes, and a quarter of it to spare, for two learners of a host, and not for three.
      const { bytesShared, bytesPerLearner } = await started
      const deviceMemory = Math.ceil(bytesShared + 2.3 * 1.25 * (bytesPerLearner + 32 * 2 ** 20))
      const [resumed, other] = await ends(together({ ...options, until: { steps: 30 }, deviceMemory }))
      expect(resumed).to.include({ iterations: 30, learners: 4 })
      // Ten steps of four learners, of 2,000 samples.
      expect(resumed!.epochs - before!.epochs).to.be.closeTo((10 * 4 * 8) / 2000, 1e-9)
      expect(other).to.deep.equal(resumed)
    } finally {
      rmSync(dir, { recursive: true })
    }
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

  it('warns of the learners and threads of a host, and not of those of all, and once of what all hosts share', async () => {
    const learners = 2 * MOST_PER_CORE * usableCores()
    const many = await eventsOf(together({ ...SHORT, learners, until: { steps: 2 } })[0]!)
    expect(many.filter(({ event }) => event === 'warning')).to.deep.equal([])
    expect(many.at(-1)).to.include({ event: 'finished', learners })
    const large = await eventsOf(together({ ...SHORT, batch: 3000, learners: 2, until: { steps: 1 } })[0]!)
    const warnings = large.filter((event) => event.event === 'warning')
    expect(warnings).to.have.length(1)
    expect(warnings[0]!.message).to.include('each step of a learner takes 3000 samples')
  })

  it('is refused before its first round where a host would train something else', async () => {
    const jobs = together(SHORT, { other: { seed: 6 } })
    await refused('HOSTS_DIFFER', () => jobs[0]!.finished, 'seed: rank 1', 'has 6', 'has 5')
    await refused('HOSTS_DIFFER', () => jobs[1]!.finished, 'seed: rank 1')
  })

  it('is refused where a host would begin with other weights, or with another learner', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'arbalest-weights-'))
    try {
      const file = join(dir, 'mlp.safetensors')
      const trained = trainWith({ ...SHORT, until: { steps: 2 } }, {})
      await trained.model.save(file)
      const names = (name: string) => (name.startsWith('fc1') ? undefined : name)
      const all = { ...SHORT, initialWeights: { file, strict: false } }
      const jobs = together(all, { other: { initialWeights: { file, strict: false, names } } })
      await Promise.all(jobs.map((job) => refused('HOSTS_DIFFER', () => job.finished, 'initialWeights (its content): rank 1')))
      const learner = new URL('../../fakes/warm-learner.js', import.meta.url)
      const others = together(SHORT, { other: { learner } })
      await Promise.all(others.map((job) => refused('HOSTS_DIFFER', () => job.finished, 'learner: rank 1')))
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  it('takes no alpha that is too large for the learners of all hosts', async () => {
    const jobs = together({ ...SHORT, until: { steps: 1_000_000 } })
    const { synchroniser } = jobs[1]!.actors
    // At alpha 0.45 averaging is stable with the two learners of a host, and not with four.
    await refused('INVALID_OPTION', () => synchroniser.ask.set({ alpha: 0.45 }), 'alpha: received 0.45; with 4 learners')
    jobs[0]!.stop()
    await ends(jobs)
  })

  it('tells programs on any host which learners all of them have', async () => {
    const jobs = together({ ...SHORT, until: { steps: 1_000_000 } })
    for (const job of jobs) expect((await job.actors.synchroniser.ask.status()).members).to.deep.equal([0, 1, 2, 3])
    const rounds = async () => jobs[1]!.actors.synchroniser.ask.sampledRounds(-1)
    const sampled = await poll(async () => (await rounds()).find(({ members }) => members.length === 2))
    // Those of the first host, which records for the dashboard.
    expect(sampled.members.map(({ learner }) => learner)).to.deep.equal([0, 2])
    jobs[0]!.stop()
    await ends(jobs)
  })

  it('goes on when a learner of any host dies', async () => {
    const learner = new URL('../../fakes/dying-learner.js', import.meta.url)
    const death: Death = { how: 'throw', victim: 1, after: 20, thread: new SharedArrayBuffer(4) }
    const jobs = together({ ...SHORT, learner, learnerOptions: death, until: { steps: 60 } })
    const events = await eventsOf(jobs[0]!)
    const lost = events.filter(({ event }) => event === 'learnerLost')
    expect(lost).to.have.length(1)
    // Its place and its number are those of the run: it was the first one of the second host.
    expect(lost[0]).to.include({ learner: 1, rank: 1 })
    expect(events.at(-1)).to.include({ event: 'finished', reason: 'completed', iterations: 60 })
    const [one, two] = await Promise.all(jobs.map(({ model }) => model.weights()))
    expect(one).to.deep.equal(two)
  })

  for (const shrinks of [false, true])
    it(`fails on all hosts with the error of one that cannot start its learners${shrinks ? ', also where they could go on without a lost one' : ''}`, async () => {
      const learner = new URL('../../fakes/failing-learner.js?how=start', import.meta.url)
      const began = performance.now()
      const jobs = together({ ...SHORT, learners: 3 }, { learner, size: 3, shrinks })
      for (const job of jobs.slice(0, 2))
        await refused('LEARNER_FAILED', () => job.finished, `hosts: rank 2 (${hostname()}): `, 'told to fail')
      await refused('LEARNER_FAILED', () => jobs[2]!.finished, 'told to fail')
      // The hosts wait so long for one that does not leave its round.
      expect(performance.now() - began).below(30_000)
    })

  it('stops on all hosts when the user of one asks for it', async () => {
    const jobs = together({ ...SHORT, until: { steps: 1_000_000 } })
    jobs[0]!.once('progress', () => jobs[1]!.stop())
    const [first, second] = await ends(jobs)
    expect(first!.reason).to.equal('stopped')
    expect(second).to.deep.equal(first)
  })

  it('does not begin where the user of one has stopped it before the hosts met', async () => {
    const [first, second] = await ends(together(SHORT, { other: { signal: AbortSignal.abort() } }))
    expect(first).to.include({ reason: 'stopped', iterations: 0 })
    expect(second).to.deep.equal(first)
  })
})
