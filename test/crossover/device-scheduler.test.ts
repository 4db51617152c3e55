import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { DeviceScheduler, type DeviceSchedulerOptions, type PolicyEvent } from '../../src/crossover/device-scheduler.js'
import type { LeaseFigures, LeaseTurns } from '../../src/engine/contract.js'

/** Steps a second of each job alone, and of all jobs together. */
interface Speeds {
  alone: readonly number[]
  shared: readonly number[]
  crossed: readonly number[]
  /** Where a job waits that is ahead of another one. */
  evenly?: Partial<Record<'shared' | 'crossed', readonly number[]>>
}

/** A lease whose jobs make steps at given rates, by the clock: each step ends at its exact time. */
class FakeLease {
  speeds: Speeds
  readonly taken: LeaseTurns[] = []
  #turns: LeaseTurns = { mode: 'shared' }
  #since = performance.now() / 1000
  readonly #done: number[]
  readonly #last: number[]
  readonly #ended = new Set<number>()

  constructor(speeds: Speeds) {
    this.speeds = speeds
    this.#done = speeds.alone.map(() => 0)
    this.#last = speeds.alone.map(() => 0)
  }

  end(job: number): void {
    this.#advance()
    this.#ended.add(job)
  }

  change(speeds: Speeds): void {
    this.#advance()
    this.speeds = speeds
  }

  setLease = (_: number, turns: LeaseTurns): void => {
    this.#advance()
    this.taken.push(turns)
    this.#turns = turns
  }

  leaseFigures = (): LeaseFigures[] => {
    this.#advance()
    return this.#done.map((done, job) => {
      const steps = Math.floor(done)
      const rate = this.#rates()[job]!
      const last = rate > 0 ? this.#since - (done - steps) / rate : this.#last[job]!
      this.#last[job] = last
      const half = steps / this.speeds.alone[job]! / 2
      return { turns: steps, seconds: half, waited: 0, rounds: steps, last, exchanged: half, overhead: 0, processor: 0 }
    })
  }

  leaseHolder = (): number => -1

  #rates(): readonly number[] {
    const { alone, evenly } = this.speeds
    const turns = this.#turns
    const rates =
      turns.mode === 'alone'
        ? alone.map((rate, job) => (job === turns.job ? rate : 0))
        : ((turns.counts && evenly?.[turns.mode]) ?? this.speeds[turns.mode])
    return rates.map((rate, job) => (this.#ended.has(job) ? 0 : rate))
  }

  #advance(): void {
    const now = performance.now() / 1000
    for (const [job, rate] of this.#rates().entries()) this.#done[job]! += rate * (now - this.#since)
    this.#since = now
  }
}

function scheduled(speeds: Speeds, options: Partial<DeviceSchedulerOptions> = {}) {
  const lease = new FakeLease(speeds)
  const events: PolicyEvent[] = []
  const shares = speeds.alone.map(() => 1)
  const scheduler = new DeviceScheduler({
    engine: lease,
    lease: 1,
    policy: 'auto',
    shares,
    sharesLink: true,
    emit: (event) => events.push(event),
    length: { rounds: 8, milliseconds: 40 },
    ...options
  })
  const outcome = scheduler.run().value
  const until = async (holds: () => boolean) => {
    while (!holds()) await sleep(20)
  }
  const end = (job: number) => {
    lease.end(job)
    scheduler.ended(job)
  }
  return { lease, events, scheduler, outcome, until, end }
}

const CROSSING_WINS: Speeds = { alone: [400, 200], shared: [240, 120], crossed: [320, 160] }
const CROSSING_LOSES: Speeds = { alone: [400, 200], shared: [220, 110], crossed: [180, 90] }
const ALL_LOSE: Speeds = { alone: [400, 200], shared: [160, 80], crossed: [180, 90] }

describe('DeviceScheduler', () => {
  for (const [policy, speeds, gain] of [
    ['crossed', CROSSING_WINS, 1.6],
    ['shared', CROSSING_LOSES, 1.1],
    ['sequential', ALL_LOSE, 1]
  ] as const)
    it(`measures all policies by auto, and keeps ${policy} where it is the fastest`, async () => {
      const { events, outcome, until, end, lease } = scheduled(speeds)
      await until(() => events.length > 0)
      expect(events[0]).to.include({ event: 'crossover', policy })
      expect(events[0]!.gain).to.be.closeTo(gain, 0.05)
      expect(events[0]!.reason).to.match(/^sequential 1\.0\d, shared [\d.]+, crossed [\d.]+ times one after the other$/)
      for (const mode of ['shared', 'crossed'] as const) expect(lease.taken.map((turns) => turns.mode)).to.include(mode)
      end(0)
      end(1)
      const { jobs, ...all } = await outcome
      expect(all.policy).to.equal(policy)
      expect(all.gain).to.be.closeTo(gain, 0.05)
      expect(all.jain).above(0.99)
      // Each job alone computes for half of its time, and exchanges for the other half.
      expect(all.predictedGain).to.be.closeTo(2, 0.05)
      for (const { slowdown } of jobs) expect(slowdown).to.be.closeTo(2 / gain, 0.1)
    })

  it('drops crossing when the link, the load or a job has changed so that it loses', async () => {
    const { events, outcome, until, end, lease } = scheduled(CROSSING_WINS)
    await until(() => events.length === 1)
    expect(events[0]!.policy).to.equal('crossed')
    lease.change(CROSSING_LOSES)
    await until(() => events.length === 2)
    expect(events[1]!.policy).to.equal('shared')
    end(0)
    end(1)
    expect((await outcome).policy).to.equal('shared')
  })

  it('lets a job wait that is ahead of another one, where jobs would be slowed down unevenly', async () => {
    const speeds: Speeds = { alone: [400, 100], shared: [200, 50], crossed: [100, 90], evenly: { crossed: [220, 55] } }
    const { events, outcome, until, end, lease } = scheduled(speeds, { policy: 'crossed', shares: [1, 1] })
    await until(() => events.length > 0)
    const [counts] = lease.taken.flatMap((turns) => (turns.mode === 'crossed' && turns.counts ? [turns.counts] : []))
    expect(counts![0]).to.be.closeTo(1 / 400, 1 / 4000)
    expect(counts![1]).to.be.closeTo(1 / 100, 1 / 1000)
    expect(events[0]).to.include({ policy: 'crossed', evenly: true })
    expect(events[0]!.gain).to.be.closeTo(1.1, 0.05)
    end(0)
    end(1)
    expect((await outcome).jain).above(0.99)
  })

  it('keeps by auto the fastest of those that slow all jobs down alike', async () => {
    const crossed = [380, 60]
    for (const [speeds, kept] of [
      [
        { ...CROSSING_WINS, shared: [390, 80], crossed },
        { policy: 'sequential', evenly: false }
      ],
      [
        { ...CROSSING_WINS, crossed, evenly: { shared: [220, 110], crossed: [280, 140] } },
        { policy: 'crossed', evenly: true }
      ],
      [
        { ...CROSSING_WINS, shared: [390, 80], crossed, evenly: { shared: [300, 150], crossed: [280, 140] } },
        { policy: 'shared', evenly: true }
      ]
    ] as const) {
      const { events, outcome, until, end } = scheduled(speeds)
      await until(() => events.length > 0)
      expect(events[0]).to.include(kept)
      const unfair = events[0]!.measured.find(({ policy, evenly }) => policy === 'crossed' && !evenly)!
      expect(unfair.gain).to.be.closeTo(380 / 400 + 60 / 200, 0.05)
      expect(unfair.jain).below(0.95)
      expect(events[0]!.reason).to.include('crossed 1.2').and.include('unfair')
      end(0)
      end(1)
      expect((await outcome).jain).above(0.99)
    }
  })

  it('lets the jobs that are left have the device as soon as one has ended', async () => {
    const three: Speeds = { alone: [400, 400, 400], shared: [150, 150, 150], crossed: [200, 200, 200] }
    const { events, outcome, until, end, lease } = scheduled(three, { policy: 'crossed' })
    await until(() => events.length === 1)
    expect(events[0]!.gain).to.be.closeTo(1.5, 0.08)
    lease.change({ alone: [400, 400, 400], shared: [200, 200, 0], crossed: [260, 260, 0] })
    end(2)
    expect(lease.taken.at(-1)).to.deep.equal({ mode: 'shared' })
    // The two others are measured anew, and cross.
    await until(() => events.length === 2)
    expect(events[1]!.gain).to.be.closeTo(1.3, 0.08)
    end(0)
    expect(lease.taken.at(-1)).to.deep.equal({ mode: 'shared' })
    end(1)
    await outcome
  })

  it('tells what was measured while all jobs were there, though fewer have shared the device otherwise afterwards', async () => {
    const three: Speeds = { alone: [400, 400, 400], shared: [150, 150, 150], crossed: [200, 200, 200] }
    const { events, outcome, until, end, lease } = scheduled(three)
    await until(() => events.length === 1)
    expect(events[0]).to.include({ policy: 'crossed' })
    lease.change({ alone: [400, 400, 400], shared: [260, 260, 0], crossed: [200, 200, 0] })
    end(2)
    await until(() => events.length === 2)
    expect(events[1]).to.include({ policy: 'shared' })
    end(0)
    end(1)
    const { policy, measured, gain, jobs } = await outcome
    expect({ policy, measured }).to.deep.equal({ policy: 'crossed', measured: true })
    expect(gain).to.be.closeTo(1.5, 0.08)
    for (const { slowdown } of jobs) expect(slowdown).to.be.closeTo(2, 0.15)
  })

  it('has one job after the other by sequential, each to its end', async () => {
    const { events, outcome, until, end, lease, scheduler } = scheduled(CROSSING_WINS, { policy: 'sequential' })
    const aloneNow = () => lease.taken.at(-1)
    await until(() => aloneNow()?.mode === 'alone')
    expect(aloneNow()).to.deep.equal({ mode: 'alone', job: 0 })
    await until(() => lease.leaseFigures()[0]!.rounds > 400)
    expect(scheduler.status()).to.match(/^sequential; no job has a turn; so far job 0 \d\.\d s, job 1 0\.0 s$/)
    end(0)
    await until(() => lease.leaseFigures()[1]!.rounds > 200)
    expect(aloneNow()).to.deep.equal({ mode: 'alone', job: 1 })
    end(1)
    const { measured, gain, predictedGain, jobs } = await outcome
    expect(measured).to.equal(true)
    expect(events.map(({ policy }) => policy)).to.deep.equal(['sequential'])
    expect([gain, ...jobs.map(({ slowdown }) => slowdown)]).to.deep.equal([1, 1, 1])
    expect(predictedGain).to.be.closeTo(1.5, 0.15)
  })

  it('ends where jobs end before anything is measured', async () => {
    const { outcome, end } = scheduled({ alone: [1, 1], shared: [1, 1], crossed: [1, 1] })
    end(1)
    end(0)
    const { measured, gain, predictedGain, jain, jobs } = await outcome
    expect(measured).to.equal(false)
    expect([gain, predictedGain, jain, ...jobs.map(({ slowdown }) => slowdown)]).to.deep.equal([1, 1, 1, 1, 1])
  })
})
