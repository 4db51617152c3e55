import type { Engine, Handle, LeaseTurns } from '../engine/contract.js'
import type { Policy } from '../options/crossover.js'
import { boundOfGain, fairnessOf, gainOf, median, pacesOf, type Rates, type StepTimes } from './figures.js'
import { DeferredReply } from '../runtime/actor.js'
import { begun, measured, type LeaseWindow, type LeaseWindowOptions, WINDOW, type WindowLength } from './window.js'

/** A way to share the device. */
export type Way = Exclude<Policy, 'auto'>

/** How jobs were together, as it was measured. */
export interface MeasuredPolicy {
  readonly policy: Way
  /** Whether a job had to wait that was ahead of another one, so that all are slowed down alike. */
  readonly evenly: boolean
  /** How many times as fast as one after the other. */
  readonly gain: number
  /** Of the jobs' paces by their shares: 1 where all are slowed down alike. */
  readonly jain: number
  /** The most that the gain could be, from the times of the jobs' steps alone, and the steps that they made together. */
  readonly predictedGain: number
}

/** How the device is shared from now on. */
export interface PolicyEvent extends MeasuredPolicy {
  readonly event: 'crossover'
  /** Every policy of this comparison. */
  readonly measured: readonly MeasuredPolicy[]
  /** Rounds a second of each job alone; 0 of one that has not been measured alone. */
  readonly alone: readonly number[]
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
  readonly jobs: readonly {
    readonly slowdown: number
    readonly computeSeconds: number
    readonly waitSeconds: number
    readonly leaseSeconds: number
    readonly leaseProcessorSeconds: number
  }[]
}

/** What was measured of a set of jobs. */
interface Finding extends MeasuredPolicy {
  readonly turns: LeaseTurns
  readonly rates: Rates
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

/** Jobs that are slowed down less evenly than this do not stay so. */
const FAIR = 0.95
/** A policy that is hardly fair is measured evenly, too. */
const HARDLY_FAIR = 0.97
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
/** A policy that is ahead of all others by this part after one round of a comparison, and after two rounds in both, is the fastest. */
const CLEAR = [0.25, 0.08]

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
      const only = { policy: 'sequential', evenly: false, gain: 1, jain: 1, predictedGain: 1 } as const
      this.#tell(only, { measured: [only], alone: this.#options.shares.map(() => 0), reason: 'as given' })
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
      const best = this.#best(found, set.findings.at(-1))
      if (set.findings.length === 0 || !isSame(best, set.findings.at(-1)!))
        this.#tell(best, { measured: found, alone: alone.rates, reason: policy === 'auto' ? reasonOf(found) : 'as given' })
      this.#way = best.policy
      set.alone = alone
      set.findings.push(best)
      await this.#keep(best, set, { alone, interval, version })
      interval = Math.min(2 * interval, MOST_INTERVAL)
    }
  }

  /**
   * Every policy in turns with the jobs alone, so that a load that comes and goes disturbs all alike: the medians of some rounds. One that is unfair is measured
   * evenly, too, unless the jobs were to share the device plainly.
   */
  async #compare(
    ways: readonly Way[],
    jobs: readonly number[],
    version: number
  ): Promise<{ readonly alone: Alone; readonly found: readonly Finding[] } | undefined> {
    const isAuto = this.#options.policy === 'auto'
    const allAlone: Alone[] = []
    const all: { readonly way: Way; readonly evenly: boolean; readonly findings: Finding[] }[] = ways.map((way) => ({
      way,
      evenly: false,
      findings: []
    }))
    for (let round = 0; round < ROUNDS; round++) {
      const alone = await this.#measureAlone(jobs, version)
      if (!alone) return undefined
      allAlone.push(alone)
      for (const { way, evenly, findings } of all) {
        const finding = await this.#measurePolicy(way, evenly, { jobs, alone, now: alone }, version)
        if (!finding) return undefined
        findings.push(finding)
        const canWait = way === 'crossed' || (way === 'shared' && isAuto)
        if (round === 0 && !evenly && canWait && finding.jain < HARDLY_FAIR) all.push({ way, evenly: true, findings: [] })
      }
      if (isClear(all.map(({ findings }) => findings))) break
    }
    return {
      alone: middle(allAlone, ({ rates }) => rates.reduce((sum, rate) => sum + rate)),
      found: all.map(({ findings }) => ({ ...middle(findings, ({ gain }) => gain), jain: median(findings.map(({ jain }) => jain)) }))
    }
  }

  /** The fastest that is fair; the present one unless another is clearly faster. */
  #best(found: readonly Finding[], last: Finding | undefined): Finding {
    const fair = found.filter(({ jain }) => jain >= FAIR)
    const candidates = fair.length > 0 ? fair : [found.reduce((one, other) => (other.jain > one.jain ? other : one))]
    const fastest = candidates.reduce((one, other) => (other.gain > one.gain ? other : one))
    const present = last && candidates.find((finding) => isSame(finding, last))
    return present && fastest.gain < BETTER * present.gain ? present : fastest
  }

  /** Until the jobs change, or it is time to compare the policies again. */
  async #keep(
    { policy, evenly, turns, gain }: Finding,
    { jobs, findings }: MeasuredSet,
    { alone, interval, version }: { readonly alone: Alone; readonly interval: number; readonly version: number }
  ): Promise<void> {
    const until = performance.now() + interval
    let changed = 0
    let unfair = 0
    while (version === this.#version && performance.now() < until) {
      // One after the other in turns of whole windows, so that all jobs go on.
      const now = policy === 'sequential' ? await this.#measureAlone(jobs, version) : undefined
      const finding =
        policy === 'sequential'
          ? now && (await this.#measurePolicy(policy, false, { jobs, alone, now }, version))
          : await this.#measureTurns({ policy, evenly, turns }, { jobs, alone }, version)
      if (!finding) continue
      findings.push(finding)
      if (findings.length > KEPT_WINDOWS) findings.shift()
      changed = Math.abs(finding.gain / gain - 1) > CHANGED ? changed + 1 : 0
      unfair = finding.jain < FAIR && !evenly ? unfair + 1 : 0
      if (Math.max(changed, unfair) >= CHANGED_WINDOWS) return
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

  /** `now`: the jobs alone, which has just been measured. */
  async #measurePolicy(
    policy: Way,
    evenly: boolean,
    { jobs, alone, now }: { readonly jobs: readonly number[]; readonly alone: Alone; readonly now: Alone },
    version: number
  ): Promise<Finding | undefined> {
    if (policy === 'sequential') {
      const rates = now.rates.map((rate) => rate / jobs.length)
      return this.#finding({ policy, evenly, turns: { mode: 'shared' } }, rates, { jobs, alone })
    }
    const { shares } = this.#options
    // A job that is not there makes no steps: any number will do.
    const counts = shares.map((share, job) => (jobs.includes(job) ? alone.times[job]!.step / share : 1))
    return this.#measureTurns({ policy, evenly, turns: { mode: policy, ...(evenly && { counts }) } }, { jobs, alone }, version)
  }

  async #measureTurns(
    way: Pick<Finding, 'policy' | 'evenly' | 'turns'>,
    set: { readonly jobs: readonly number[]; readonly alone: Alone },
    version: number
  ): Promise<Finding | undefined> {
    this.#take(way.turns)
    const window = await this.#measured(set.jobs, version)
    return window && this.#finding(way, window.rates, set)
  }

  #finding(
    way: Pick<Finding, 'policy' | 'evenly' | 'turns'>,
    rates: Rates,
    { jobs, alone }: { readonly jobs: readonly number[]; readonly alone: Alone }
  ): Finding {
    const of = <T>(all: readonly T[]) => jobs.map((job) => all[job]!)
    const paces = pacesOf(of(rates), of(alone.rates))
    const steps = of(alone.times).map(({ step }, i) => paces[i]! / step)
    return {
      ...way,
      rates,
      gain: gainOf(of(rates), of(alone.rates)),
      jain: fairnessOf(of(rates), of(alone.rates), of(this.#options.shares)),
      predictedGain: boundOfGain(of(alone.times), { sharesLink: this.#options.sharesLink, steps })
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

  #tell(best: MeasuredPolicy, { measured: found, ...about }: Pick<PolicyEvent, 'measured' | 'alone' | 'reason'>): void {
    const figures = ({ policy, evenly, gain, jain, predictedGain }: MeasuredPolicy) => ({ policy, evenly, gain, jain, predictedGain })
    this.#options.emit({ event: 'crossover', ...figures(best), measured: found.map(figures), ...about })
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
    const findings = longest?.findings.filter(({ policy }) => policy === this.#way) ?? []
    const times = longest?.alone?.times.filter((_, job) => longest.jobs.includes(job)) ?? []
    const paces = shares.map((_, job) => median(findings.map(({ rates }) => pacesOf(rates, longest!.alone!.rates)[job]!)))
    return {
      policy: this.#way,
      gain: findings.length > 0 ? median(findings.map(({ gain }) => gain)) : 1,
      predictedGain:
        findings.length > 0
          ? median(findings.map(({ predictedGain }) => predictedGain))
          : times.length > 1
            ? boundOfGain(times, { sharesLink })
            : 1,
      jain: findings.length > 0 ? median(findings.map(({ jain }) => jain)) : 1,
      jobs: paces.map((pace, job) => ({
        slowdown: pace > 0 ? 1 / pace : 1,
        computeSeconds: figures[job]!.seconds,
        waitSeconds: figures[job]!.waited,
        leaseSeconds: figures[job]!.overhead,
        leaseProcessorSeconds: figures[job]!.processor
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

const UNKNOWN: StepTimes = { step: NaN, compute: NaN, exchange: NaN }

function isSame(one: MeasuredPolicy, other: MeasuredPolicy): boolean {
  return one.policy === other.policy && one.evenly === other.evenly
}

/** Whether the same policy is fair and clearly ahead in each round of a comparison. */
function isClear(all: readonly (readonly Finding[])[]): boolean {
  const rounds = all[0]!.length
  const least = CLEAR[rounds - 1] ?? Infinity
  return all.some((own) =>
    own.every(
      ({ gain, jain }, round) => jain >= HARDLY_FAIR && all.every((other) => other === own || gain >= (1 + least) * other[round]!.gain)
    )
  )
}

function middle<T>(values: readonly T[], by: (value: T) => number): T {
  return values.toSorted((a, b) => by(a) - by(b))[values.length >> 1]!
}

function reasonOf(found: readonly MeasuredPolicy[]): string {
  const each = ({ policy, evenly, gain, jain }: MeasuredPolicy) =>
    `${policy}${evenly ? ' evenly' : ''} ${gain.toFixed(2)}${jain < FAIR ? ` (unfair, ${jain.toFixed(2)})` : ''}`
  return found.map(each).join(', ') + ' times one after the other'
}
