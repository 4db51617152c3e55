import type { Engine, Handle, LeaseTurns } from '../engine/contract.js'
import { boundOfGain, fairnessOf, gainOf, pacesOf, type Rates, type StepTimes } from './figures.js'
import type { MeasuredPolicy } from './sharing-policy.js'
import { begun, measured, type LeaseWindow, type LeaseWindowOptions, WINDOW, type WindowLength } from './window.js'

/** What was measured of jobs that each had the device for themselves. */
export interface Alone {
  readonly rates: Rates
  readonly times: readonly StepTimes[]
}

/** What was measured of jobs that were together by a policy. */
export interface Finding extends MeasuredPolicy {
  readonly turns: LeaseTurns
  readonly rates: Rates
}

export interface PolicyMeterOptions {
  readonly engine: Pick<Engine, 'setLease' | 'leaseFigures'>
  readonly lease: Handle
  readonly shares: readonly number[]
  /** Whether the jobs exchange over one link. */
  readonly sharesLink: boolean
  readonly length?: WindowLength
}

/**
 * Measures a set of jobs on the device that they share, each alone and all of them together. A measurement sets the device's turns, and they stay. It is
 * undefined if a job makes too few rounds, and once the meter is over.
 */
export class PolicyMeter {
  readonly #options: PolicyMeterOptions
  readonly #jobs: readonly number[]
  readonly #over: AbortSignal

  /** `over` is aborted when the set of jobs changes. */
  constructor(options: PolicyMeterOptions, jobs: readonly number[], over: AbortSignal) {
    this.#options = options
    this.#jobs = jobs
    this.#over = over
  }

  /** Whether the jobs are not to be measured any more. */
  get isOver(): boolean {
    return this.#over.aborted
  }

  /** Lets all jobs have the device at once until each has made a round. */
  async begin(): Promise<void> {
    this.#setTurns({ mode: 'shared' })
    await begun(this.#windowOf(this.#jobs))
  }

  /** Each job alone. */
  async measureAlone(): Promise<Alone | undefined> {
    let alone: Alone | undefined
    for (const job of this.#jobs) {
      alone = await this.addAlone(alone, job)
      if (!alone) return undefined
    }
    return alone
  }

  /** One job alone, beside what is known of others. */
  async addAlone(known: Alone | undefined, job: number): Promise<Alone | undefined> {
    this.#setTurns({ mode: 'alone', job })
    const window = await measured(this.#windowOf([job]))
    return window && withJob(known, job, window)
  }

  /** The jobs by a policy, beside what is known of them `alone`. `now`: the jobs alone, which has just been measured. */
  async measurePolicy(
    { policy, evenly }: Pick<Finding, 'policy' | 'evenly'>,
    { alone, now }: { readonly alone: Alone; readonly now: Alone }
  ): Promise<Finding | undefined> {
    const jobs = this.#jobs
    if (policy === 'sequential') {
      const rates = now.rates.map((rate) => rate / jobs.length)
      return this.#finding({ policy, evenly, turns: { mode: 'shared' } }, rates, alone)
    }
    const { shares } = this.#options
    // A job that is not there makes no steps: any number will do.
    const counts = shares.map((share, job) => (jobs.includes(job) ? alone.times[job]!.step / share : 1))
    return this.measureTurns({ policy, evenly, turns: { mode: policy, ...(evenly && { counts }) } }, alone)
  }

  /** The jobs by a policy whose turns are known. */
  async measureTurns(known: Pick<Finding, 'policy' | 'evenly' | 'turns'>, alone: Alone): Promise<Finding | undefined> {
    this.#setTurns(known.turns)
    const window = await measured(this.#windowOf(this.#jobs))
    return window && this.#finding(known, window.rates, alone)
  }

  #finding(known: Pick<Finding, 'policy' | 'evenly' | 'turns'>, rates: Rates, alone: Alone): Finding {
    const { shares, sharesLink } = this.#options
    const of = <T>(all: readonly T[]) => this.#jobs.map((job) => all[job]!)
    const paces = pacesOf(of(rates), of(alone.rates))
    const steps = of(alone.times).map(({ step }, i) => paces[i]! / step)
    return {
      ...known,
      rates,
      gain: gainOf(of(rates), of(alone.rates)),
      jain: fairnessOf(of(rates), of(alone.rates), of(shares)),
      predictedGain: boundOfGain(of(alone.times), { sharesLink, steps })
    }
  }

  #windowOf(jobs: readonly number[]): LeaseWindowOptions {
    const { engine, lease, length = WINDOW } = this.#options
    return { engine, lease, jobs, length, isOver: () => this.isOver }
  }

  #setTurns(turns: LeaseTurns): void {
    this.#options.engine.setLease(this.#options.lease, turns)
  }
}

const UNKNOWN: StepTimes = { step: NaN, compute: NaN, exchange: NaN }

function withJob(alone: Alone | undefined, job: number, { rates, times }: LeaseWindow): Alone {
  if (!alone)
    return {
      rates: rates.map((rate, each) => (each === job ? rate : 0)),
      times: times.map((time, each) => (each === job ? time : UNKNOWN))
    }
  return { rates: alone.rates.with(job, rates[job]!), times: alone.times.with(job, times[job]!) }
}
