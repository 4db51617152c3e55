import type { Engine, Handle, LeaseTurns } from '../engine/contract.js'
import type { Policy } from '../options/crossover.js'
import { boundOfGain, fairnessOf, gainOf, median, orderOfTurns, pacesOf, type Rates, type StepTimes } from './figures.js'
import { DeferredReply } from '../runtime/actor.js'
import { begun, measured, type LeaseWindow, type LeaseWindowOptions, WINDOW, type WindowLength } from './window.js'

/** A way to share the device. */
export type Way = Exclude<Policy, 'auto'>

/** How the device is shared from now on. */
export interface PolicyEvent {
  readonly event: 'crossover'
  readonly policy: Way
  /** How many times as fast as one after the other, as it was measured. */
  readonly gain: number
  /** Of every policy that was measured now. */
  readonly gains: Readonly<Partial<Record<Way, number>>>
  /** The most that crossing could give, from the times of the jobs' steps alone. */
  readonly predictedGain?: number
  readonly reason: string
}

export interface DeviceSchedulerOptions {
  readonly engine: Pick<Engine, 'setLease' | 'leaseFigures' | 'leaseHolder'>
  readonly lease: Handle
  readonly policy: Policy
  readonly shares: readonly number[]
  /** Whether the jobs exchange over one link. */
  readonly sharesLink: boolean
  readonly emit: (event: PolicyEvent) => void
  readonly length?: WindowLength
}

/** How the jobs have trained together. */
export interface SharedOutcome {
  readonly policy: Way
  readonly gain: number
  readonly predictedGain: number
  readonly jain: number
  readonly jobs: readonly { readonly slowdown: number; readonly computeSeconds: number; readonly waitSeconds: number }[]
}

/** What was measured of a set of jobs. */
interface Finding {
  readonly way: Way
  readonly turns: LeaseTurns
  readonly rates: Rates
  readonly gain: number
  readonly jain: number
}

interface MeasuredSet {
  readonly jobs: readonly number[]
  alone: Alone | undefined
  readonly findings: Finding[]
}

interface Alone {
  readonly rates: Rates
  readonly times: readonly StepTimes[]
}

/** Jobs that are slowed down less evenly than this take turns in a fixed order. */
const FAIR = 0.95
/** A way that is this much faster than the present one takes its place. */
const BETTER = 1.02
/** A gain that differs by this part from the one that was measured, in some windows in a row: the link, the load or a job has changed. */
const CHANGED = 0.2
const CHANGED_WINDOWS = 3
/** Milliseconds from one comparison of all ways to the next: they double up to the most, so that comparisons take little of a long run. */
const FIRST_INTERVAL = 30_000
const MOST_INTERVAL = 600_000
const KEPT_WINDOWS = 100
/** Of a comparison. */
const ROUNDS = 3

/**
 * Decides whose turn it is on a device that several jobs share. The engine carries it out: the jobs' learners take turns without a message a step. A job's
 * weights do not depend on the decisions.
 */
export class DeviceScheduler {
  readonly #options: DeviceSchedulerOptions
  readonly #present: Set<number>
  /** Changes with the jobs that are present. */
  #version = 0
  #wake = () => {}
  #way: Way
  /** What was measured of each set of jobs that have trained together; the last one trains now. */
  readonly #sets: MeasuredSet[] = []

  constructor(options: DeviceSchedulerOptions) {
    this.#options = options
    this.#present = new Set(options.shares.keys())
    this.#way = options.policy === 'auto' ? 'shared' : options.policy
  }

  /** How the device is shared at present, in words. */
  status(): string {
    const { engine, lease } = this.#options
    const holder = engine.leaseHolder(lease)
    const seconds = engine.leaseFigures(lease).map((job, number) => `job ${number} ${job.seconds.toFixed(1)} s`)
    return `${this.#way}; ${holder < 0 ? 'no job has a turn' : `job ${holder} computes`}; so far ${seconds.join(', ')}`
  }

  /** To be called when a job has ended, however it has: the others take its turns. */
  ended(job: number): void {
    this.#present.delete(job)
    this.#version++
    // Until the scheduler has decided anew, nothing waits for the job.
    this.#take({ mode: 'shared' })
    this.#wake()
  }

  /** Answers when all jobs have ended. */
  run(): DeferredReply<SharedOutcome> {
    return new DeferredReply(this.#schedule())
  }

  async #schedule(): Promise<SharedOutcome> {
    while (this.#present.size > 0) {
      const version = this.#version
      if (this.#options.policy === 'sequential') await this.#oneAfterTheOther(version)
      else if (this.#present.size === 1) await this.#change(version)
      else await this.#together(version)
    }
    return this.#outcome()
  }

  /** Until the first of the jobs has ended. */
  async #oneAfterTheOther(version: number): Promise<void> {
    const [job] = this.#present as Iterable<number> as [number]
    if (this.#sets.length === 0) {
      this.#sets.push({ jobs: [...this.#present], alone: undefined, findings: [] })
      this.#tell('sequential', [{ way: 'sequential', gain: 1 }], 'as given')
    }
    const set = this.#sets[0]!
    this.#take({ mode: 'alone', job })
    const window = await this.#measured([job], version)
    if (window) set.alone = withJob(set.alone, job, window)
    await this.#change(version)
  }

  async #together(version: number): Promise<void> {
    const jobs = [...this.#present]
    const isOver = () => version !== this.#version
    const { policy } = this.#options
    const set: MeasuredSet = { jobs, alone: undefined, findings: [] }
    this.#sets.push(set)
    this.#take({ mode: 'shared' })
    await begun(this.#windowOf(jobs, version))
    let interval = FIRST_INTERVAL
    while (!isOver()) {
      const compared = await this.#compare(policy === 'auto' ? ['sequential', 'shared', 'crossed'] : [policy], jobs, version)
      if (!compared) continue
      const { alone, found } = compared
      const best = this.#best(found, set)
      if (set.findings.length === 0 || best.way !== this.#way) {
        const times = jobs.map((job) => alone.times[job]!)
        this.#tell(best.way, found, policy === 'auto' ? reasonOf(found) : 'as given', boundOfGain(times, this.#options))
      }
      this.#way = best.way
      set.alone = alone
      set.findings.push(best)
      await this.#keep(best, set, { alone, interval, version })
      interval = Math.min(2 * interval, MOST_INTERVAL)
    }
  }

  /** Every way in turns with the jobs alone, so that a load that comes and goes disturbs all alike: the medians of some rounds. */
  async #compare(
    ways: readonly Way[],
    jobs: readonly number[],
    version: number
  ): Promise<{ readonly alone: Alone; readonly found: readonly Finding[] } | undefined> {
    const allAlone: Alone[] = []
    const all = new Map<Way, Finding[]>(ways.map((way) => [way, []]))
    for (let round = 0; round < ROUNDS; round++) {
      const alone = await this.#measureAlone(jobs, version)
      if (!alone) return undefined
      allAlone.push(alone)
      for (const way of ways) {
        // One after the other is what has just been measured.
        const rates = alone.rates.map((rate) => rate / jobs.length)
        const finding =
          way === 'sequential'
            ? this.#finding(way, { mode: 'shared' }, rates, { jobs, alone })
            : await this.#measureWay(way, jobs, alone, version)
        if (!finding) return undefined
        all.get(way)!.push(finding)
      }
    }
    const middle = <T>(values: readonly T[], by: (value: T) => number) => values.toSorted((a, b) => by(a) - by(b))[values.length >> 1]!
    return {
      alone: middle(allAlone, ({ rates }) => rates.reduce((sum, rate) => sum + rate)),
      found: [...all.values()].map((findings) => middle(findings, ({ gain }) => gain))
    }
  }

  /** The fastest way; the present one unless another is clearly faster. */
  #best(found: readonly Finding[], set: MeasuredSet): Finding {
    const fastest = found.reduce((one, other) => (other.gain > one.gain ? other : one))
    const present = found.find(({ way }) => way === this.#way)
    return present && set.findings.length > 0 && fastest.gain < BETTER * present.gain ? present : fastest
  }

  /** Until the jobs change, or it is time to compare the ways again. */
  async #keep(
    { way, turns, gain }: Finding,
    { jobs, findings }: MeasuredSet,
    { alone, interval, version }: { readonly alone: Alone; readonly interval: number; readonly version: number }
  ): Promise<void> {
    const until = performance.now() + interval
    let changed = 0
    while (version === this.#version && performance.now() < until) {
      const finding = await (way === 'sequential'
        ? this.#measureWay(way, jobs, alone, version)
        : this.#measureTurns(way, turns, jobs, alone, version))
      if (!finding) continue
      findings.push(finding)
      if (findings.length > KEPT_WINDOWS) findings.shift()
      changed = Math.abs(finding.gain / gain - 1) > CHANGED ? changed + 1 : 0
      if (changed === CHANGED_WINDOWS) return
    }
  }

  async #measureAlone(jobs: readonly number[], version: number): Promise<Alone | undefined> {
    let alone: Alone | undefined
    for (const job of jobs) {
      this.#take({ mode: 'alone', job })
      const window = await this.#measured([job], version)
      if (!window) return undefined
      alone = withJob(alone, job, window)
    }
    return alone
  }

  async #measureWay(way: Way, jobs: readonly number[], alone: Alone, version: number): Promise<Finding | undefined> {
    const { shares } = this.#options
    if (way === 'sequential') {
      // In turns of whole windows, so that all jobs go on.
      const now = await this.#measureAlone(jobs, version)
      if (!now) return undefined
      const rates = now.rates.map((rate) => rate / jobs.length)
      return this.#finding(way, { mode: 'shared' }, rates, { jobs, alone })
    }
    const first = await this.#measureTurns(way, { mode: way }, jobs, alone, version)
    if (way === 'shared' || !first || first.jain >= FAIR) return first
    const order = orderOfTurns(jobs.map((job) => ({ compute: alone.times[job]!.compute, share: shares[job]! })))?.map(
      (place) => jobs[place]!
    )
    const second = order && (await this.#measureTurns(way, { mode: way, order }, jobs, alone, version))
    return second && second.jain > first.jain ? second : first
  }

  async #measureTurns(way: Way, turns: LeaseTurns, jobs: readonly number[], alone: Alone, version: number): Promise<Finding | undefined> {
    this.#take(turns)
    const window = await this.#measured(jobs, version)
    return window && this.#finding(way, turns, window.rates, { jobs, alone })
  }

  #finding(
    way: Way,
    turns: LeaseTurns,
    rates: Rates,
    { jobs, alone }: { readonly jobs: readonly number[]; readonly alone: Alone }
  ): Finding {
    const of = (all: readonly number[]) => jobs.map((job) => all[job]!)
    return {
      way,
      turns,
      rates,
      gain: gainOf(of(rates), of(alone.rates)),
      jain: fairnessOf(of(rates), of(alone.rates), of(this.#options.shares))
    }
  }

  #measured(jobs: readonly number[], version: number): Promise<LeaseWindow | undefined> {
    return measured(this.#windowOf(jobs, version))
  }

  #windowOf(jobs: readonly number[], version: number): LeaseWindowOptions {
    const { engine, lease, length = WINDOW } = this.#options
    return { engine, lease, jobs, length, isOver: () => version !== this.#version }
  }

  #take(turns: LeaseTurns): void {
    this.#options.engine.setLease(this.#options.lease, turns)
  }

  #tell(policy: Way, found: readonly Pick<Finding, 'way' | 'gain'>[], reason: string, predictedGain?: number): void {
    const gains = Object.fromEntries(found.map(({ way, gain }) => [way, gain])) as Partial<Record<Way, number>>
    const { emit } = this.#options
    emit({ event: 'crossover', policy, gain: gains[policy]!, gains, ...(predictedGain !== undefined && { predictedGain }), reason })
  }

  #change(version: number): Promise<void> {
    if (version !== this.#version) return Promise.resolve()
    return new Promise((resolve) => (this.#wake = resolve))
  }

  /** Of the set of jobs that was measured longest; all jobs were together there, unless one has ended soon. */
  #outcome(): SharedOutcome {
    const { engine, lease, shares, sharesLink } = this.#options
    const figures = engine.leaseFigures(lease)
    const longest = this.#sets.reduce<MeasuredSet | undefined>(
      (one, other) => (one && one.findings.length >= other.findings.length ? one : other),
      undefined
    )
    const findings = longest?.findings.filter(({ way }) => way === this.#way) ?? []
    const times = longest?.alone?.times.filter((_, job) => longest.jobs.includes(job)) ?? []
    const paces = shares.map((_, job) => median(findings.map(({ rates }) => pacesOf(rates, longest!.alone!.rates)[job]!)))
    return {
      policy: this.#way,
      gain: findings.length > 0 ? median(findings.map(({ gain }) => gain)) : 1,
      predictedGain: times.length > 1 ? boundOfGain(times, { sharesLink }) : 1,
      jain: findings.length > 0 ? median(findings.map(({ jain }) => jain)) : 1,
      jobs: paces.map((pace, job) => ({
        slowdown: pace > 0 ? 1 / pace : 1,
        computeSeconds: figures[job]!.seconds,
        waitSeconds: figures[job]!.waited
      }))
    }
  }
}

function withJob(alone: Alone | undefined, job: number, { rates, times }: LeaseWindow): Alone {
  if (!alone)
    return {
      rates: rates.map((rate, each) => (each === job ? rate : 0)),
      times: times.map((time, each) => (each === job ? time : UNKNOWN))
    }
  return { rates: alone.rates.with(job, rates[job]!), times: alone.times.with(job, times[job]!) }
}

const UNKNOWN: StepTimes = { compute: NaN, communicate: NaN }

function reasonOf(found: readonly Finding[]): string {
  return found.map(({ way, gain }) => `${way} ${gain.toFixed(2)}`).join(', ') + ' times one after the other'
}
