import type { Engine } from '../engine/contract.js'
import type { Policy } from '../options/crossover.js'
import { DeferredReply } from '../runtime/actor.js'
import { bestOf, comparePolicies, FAIR, reasonOf } from './compare-policies.js'
import { PolicyMeter, type Alone, type Finding, type PolicyMeterOptions } from './policy-meter.js'
import { outcomeOf, type MeasuredSet, type SharedOutcome } from './shared-outcome.js'
import { isSame, type MeasuredPolicy, type SharingPolicy } from './sharing-policy.js'

/** How the device is shared from now on. */
export interface PolicyEvent extends MeasuredPolicy {
  readonly event: 'crossover'
  /** Every policy of this comparison. */
  readonly measured: readonly MeasuredPolicy[]
  /** Rounds a second of each job alone; 0 of one that has not been measured alone. */
  readonly alone: readonly number[]
  readonly reason: string
}

export interface DeviceSchedulerOptions extends PolicyMeterOptions {
  readonly engine: Pick<Engine, 'setLease' | 'leaseFigures' | 'leaseHolder'>
  readonly policy: Policy
  readonly emit: (event: PolicyEvent) => void
}

/** A gain that differs by this part from the one that was measured, in some windows in a row: the link, the load or a job has changed. */
const CHANGED = 0.2
const CHANGED_WINDOWS = 3
/** Milliseconds from one comparison of all policies to the next: they double up to the most, so that comparisons take little of a long run. */
const FIRST_INTERVAL = 30_000
const MOST_INTERVAL = 600_000
const KEPT_WINDOWS = 100

/**
 * Decides whose turn it is on a device that several jobs share. The engine carries it out: the jobs' learners take turns without a message a step. A job's
 * weights do not depend on the decisions.
 */
export class DeviceScheduler {
  readonly #options: DeviceSchedulerOptions
  readonly #present: Set<number>
  /** Aborted when the set of jobs that are present changes; the next set has another one. */
  #jobsChange = new AbortController()
  #policy: SharingPolicy
  /** What was measured of each set of jobs that have trained together; the last one trains now. */
  readonly #sets: MeasuredSet[] = []

  constructor(options: DeviceSchedulerOptions) {
    this.#options = options
    this.#present = new Set(options.shares.keys())
    this.#policy = options.policy === 'auto' ? 'shared' : options.policy
  }

  /** How the device is shared at present, in words. */
  status(): string {
    const { engine, lease } = this.#options
    const holder = engine.leaseHolder(lease)
    const seconds = engine.leaseFigures(lease).map((job, number) => `job ${number} ${job.seconds.toFixed(1)} s`)
    return `${this.#policy}; ${holder < 0 ? 'no job has a turn' : `job ${holder} computes`}; so far ${seconds.join(', ')}`
  }

  /** To be called when a job has ended, however it has: the others take its turns. */
  ended(job: number): void {
    const { engine, lease } = this.#options
    this.#present.delete(job)
    // Until the scheduler has decided anew, nothing waits for the job.
    engine.setLease(lease, { mode: 'shared' })
    const change = this.#jobsChange
    this.#jobsChange = new AbortController()
    change.abort()
  }

  /** Answers when all jobs have ended. */
  run(): DeferredReply<SharedOutcome> {
    return new DeferredReply(this.#schedule())
  }

  async #schedule(): Promise<SharedOutcome> {
    const { engine, lease } = this.#options
    while (this.#present.size > 0) {
      const { signal } = this.#jobsChange
      if (this.#options.policy === 'sequential') await this.#oneAfterTheOther(signal)
      else if (this.#present.size === 1) await untilAborted(signal)
      else await this.#together(signal)
    }
    return outcomeOf(this.#sets, { ...this.#options, policy: this.#policy, figures: engine.leaseFigures(lease) })
  }

  /** Until the first of the jobs has ended. */
  async #oneAfterTheOther(jobsChange: AbortSignal): Promise<void> {
    const [job] = this.#present as Iterable<number> as [number]
    if (this.#sets.length === 0) {
      this.#sets.push({ jobs: [...this.#present], alone: undefined, findings: [] })
      const only = { policy: 'sequential', evenly: false, gain: 1, jain: 1, predictedGain: 1 } as const
      this.#tell(only, { measured: [only], alone: this.#options.shares.map(() => 0), reason: 'as given' })
    }
    const set = this.#sets[0]!
    const meter = new PolicyMeter(this.#options, [job], jobsChange)
    set.alone = (await meter.addAlone(set.alone, job)) ?? set.alone
    await untilAborted(jobsChange)
  }

  /** Until the first of the jobs has ended. */
  async #together(jobsChange: AbortSignal): Promise<void> {
    const jobs = [...this.#present]
    const { policy } = this.#options
    const meter = new PolicyMeter(this.#options, jobs, jobsChange)
    const set: MeasuredSet = { jobs, alone: undefined, findings: [] }
    this.#sets.push(set)
    await meter.begin()
    let interval = FIRST_INTERVAL
    while (!meter.isOver) {
      const compared = await comparePolicies(policy, meter)
      if (!compared) continue
      const { alone, found } = compared
      const last = set.findings.at(-1)
      const best = bestOf(found, last)
      if (!last || !isSame(best, last))
        this.#tell(best, { measured: found, alone: alone.rates, reason: policy === 'auto' ? reasonOf(found) : 'as given' })
      this.#policy = best.policy
      set.alone = alone
      set.findings.push(best)
      await this.#keep(best, set, { meter, alone, interval })
      interval = Math.min(2 * interval, MOST_INTERVAL)
    }
  }

  /** Until the jobs change, or it is time to compare the policies again. */
  async #keep(
    best: Finding,
    { findings }: MeasuredSet,
    { meter, alone, interval }: { readonly meter: PolicyMeter; readonly alone: Alone; readonly interval: number }
  ): Promise<void> {
    const until = performance.now() + interval
    let changed = 0
    let unfair = 0
    while (!meter.isOver && performance.now() < until) {
      const finding = best.policy === 'sequential' ? await oneByOne(meter, best, alone) : await meter.measureTurns(best, alone)
      if (!finding) continue
      findings.push(finding)
      if (findings.length > KEPT_WINDOWS) findings.shift()
      changed = Math.abs(finding.gain / best.gain - 1) > CHANGED ? changed + 1 : 0
      unfair = finding.jain < FAIR && !best.evenly ? unfair + 1 : 0
      if (Math.max(changed, unfair) >= CHANGED_WINDOWS) return
    }
  }

  #tell(best: MeasuredPolicy, { measured: found, ...about }: Pick<PolicyEvent, 'measured' | 'alone' | 'reason'>): void {
    const figures = ({ policy, evenly, gain, jain, predictedGain }: MeasuredPolicy) => ({ policy, evenly, gain, jain, predictedGain })
    this.#options.emit({ event: 'crossover', ...figures(best), measured: found.map(figures), ...about })
  }
}

/** One after the other in turns of whole windows, so that all jobs go on. */
async function oneByOne(meter: PolicyMeter, best: Finding, alone: Alone): Promise<Finding | undefined> {
  const now = await meter.measureAlone()
  return now && meter.measurePolicy(best, { alone, now })
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
