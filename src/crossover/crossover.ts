import { HandleScope } from '../engine/handle-scope.js'
import type { Handle, HostsSpec, LeaseTurns } from '../engine/contract.js'
import { engine } from '../engine/native.js'
import { codeOf, messageOf } from '../errors.js'
import { isFirstProcess } from '../hosts/tenants.js'
import type { JobsWatch } from '../dashboard/jobs-watch.js'
import { runEvent } from '../observe/run-event.js'
import { EventStream } from '../observe/event-stream.js'
import type { JobEvent } from '../observe/events.js'
import { crossoverSettings, settingsOfJobs, type CrossoverOptions } from '../options/crossover.js'
import type { TrainOptions } from '../options/train-options.js'
import type { Job } from '../run/job.js'
import { refuseBundle } from '../package-version.js'
import { hostsSpecOf } from '../run/hosts/hosts-spec.js'
import { Admission } from '../run/memory/admission.js'
import { titleOf } from '../run/run-modules.js'
import { trainWith, type WatchWith } from '../run/train.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import { deferred, type Deferred } from '../runtime/promises.js'
import type { DeviceScheduler, DeviceSchedulerOptions, PolicyEvent } from './device-scheduler.js'
import { CrossedHosts } from './hosts.js'
import type { SharingPolicy } from './sharing-policy.js'

/** An event of one of the jobs, or of the device that they share. */
export type CrossoverEvent = (JobEvent & { readonly job: number }) | JobFailedEvent | PolicyEvent | CrossoverFinishedEvent

/** A job has failed. The others go on. */
export interface JobFailedEvent {
  readonly event: 'failed'
  readonly job: number
  readonly code: string
  readonly message: string
}

/** The end of all jobs. */
export interface CrossoverFinishedEvent {
  readonly event: 'finished'
  /** How the jobs that trained together longest shared the device last: all of them, unless one has ended soon. */
  readonly policy: SharingPolicy
  /** Whether the jobs were together for long enough to be measured. Otherwise `gain`, `jain` and each `slowdown` are 1. */
  readonly measured: boolean
  /** How many times as fast the jobs were together as one after the other, while all of them trained: the median of measured windows. */
  readonly gain: number
  /** The most that crossing could give, from the times of the jobs' steps alone. */
  readonly predictedGain: number
  /** Of the jobs' paces by their shares: 1 where all are slowed down alike. */
  readonly jain: number
  readonly jobs: readonly CrossedJob[]
}

/** One of the jobs, after the end of all. */
export interface CrossedJob {
  /** Absent if the job has failed. */
  readonly weightsSha256?: string
  /** The error of a job that has failed. */
  readonly failed?: { readonly code: string; readonly message: string }
  /** How many times as long a step took as it takes alone. */
  readonly slowdown: number
  /** For which its learners had the device, in turns. */
  readonly computeSeconds: number
  /** For which its learners together waited for it. */
  readonly waitSeconds: number
  /** That its learners together spent on taking turns: in the calls, beside waiting for other jobs, and until a thread ran whose turn it was. */
  readonly leaseSeconds: number
  /** Of processor time that its learners' threads spent in these calls, with what waiting takes of it. */
  readonly leaseProcessorSeconds: number
}

/**
 * Trains several jobs on one device. While one exchanges what its learners have computed, another computes. Each ends with the weights that it ends with
 * alone, bit for bit; see docs/crossover.md.
 *
 * ```ts
 * const pair = crossover([{ model: 'resnet20', data: 'cifar-10' }, { model: 'lenet', data: 'mnist' }], { policy: 'auto' })
 * for await (const event of pair) console.log(event)
 * ```
 *
 * Throws what `train` throws for each job's options, INVALID_OPTION for jobs that cannot share a device, and INVALID_STATE in a bundle.
 */
export function crossover(jobs: readonly TrainOptions[], options: CrossoverOptions = {}): Crossover {
  refuseBundle()
  return new Crossover(jobs, options)
}

/** How this process meets the other hosts: a link of this number, of so many. Undefined if it trains alone. */
export type LinkToHosts = (number: number, links: number) => HostsSpec | undefined

/** Several jobs on one device. `for await (const event of pair)` reads the events of all. */
export class Crossover implements AsyncIterable<CrossoverEvent> {
  /** In the order in which they were given. */
  readonly jobs: readonly Job[]
  /**
   * Resolves when all jobs have ended, also if some have failed: `jobs` then has the error of each, and its own `finished` rejects with it. Over several hosts it rejects with
   * HOST_LOST if one of them is lost, which ends all jobs.
   */
  readonly finished: Promise<CrossoverFinishedEvent>
  /** The address of the page that shows all jobs, with its secret; undefined without the option `dashboard`. Rejects with INVALID_OPTION if there is no such port. */
  readonly dashboard: Promise<string | undefined>
  readonly #stream = new EventStream<CrossoverEvent>(({ event }) => event === 'progress')
  readonly #handles = new HandleScope(engine)
  readonly #admission: Admission
  readonly #hosts: CrossedHosts | undefined
  /** Each resolves when its job has ended, however it has. */
  readonly #ends: readonly Deferred<void>[]
  /** How the jobs share the device now. */
  #mode: LeaseTurns['mode'] = 'shared'

  /** `linkOf`: for tests; that of the launcher if omitted. */
  constructor(given: readonly TrainOptions[], options: CrossoverOptions, linkOf?: LinkToHosts) {
    const settings = settingsOfJobs(given)
    const { policy, shares, dashboard } = crossoverSettings(options, settings)
    // A link for each job, and one for the turns on the device.
    const launched = hostsSpecOf(settings[0]!)
    const links = given.length + 1
    const specOf = (number: number) =>
      linkOf ? linkOf(number, links) : launched && ({ ...launched, number, links: Array.from({ length: links }, () => []) } as HostsSpec)
    const spec = specOf(given.length)
    this.#hosts = spec && new CrossedHosts(engine, spec)
    const lease = this.#handles.own(engine.createLease({ shares, ...(this.#hosts && { hosts: this.#hosts.handle }) }))
    const bytesPerSecond = settings[0]!.devices.link
    const link = bytesPerSecond === undefined ? undefined : this.#handles.own(engine.createRatedLink({ bytesPerSecond, latency: 0 }))
    const makeArenas = (sizes: readonly number[]) => this.#handles.own(engine.createArenas({ backend: settings[0]!.backend, sizes }))
    const admission = (this.#admission = new Admission(given.length, makeArenas))
    const watch = dashboard === false || !isFirstProcess() ? undefined : this.#watch({ dashboard, jobs: given.length }, lease)
    this.dashboard = watch?.then(({ url }) => url) ?? Promise.resolve(undefined)
    this.dashboard.catch(() => {})
    const watchWith = watch && watchedIn(watch)
    this.#ends = given.map(() => deferred())
    this.jobs = given.map((each, job) => {
      const hosts = specOf(job)
      const before = this.#ends.slice(0, job).map(({ promise }) => promise)
      const begins = policy === 'sequential' && { begins: Promise.all(before) }
      const shared = { lease, job, admission, ...(link !== undefined && { link }), ...begins }
      return trainWith(each, { shared, ...(hosts && { hosts }) }, watchWith)
    })
    const emit = (event: PolicyEvent) => this.#stream.push(event)
    const sharesLink = link !== undefined || this.#hosts !== undefined
    const scheduler = { engine: this.#engineOfScheduler(), lease, policy, shares, sharesLink, emit }
    // The jobs begin at the same time: those that are ready first compute until the scheduler decides.
    // Their events are read from now on: some come before the scheduler is there.
    const events = this.jobs.map((job) => job[Symbol.asyncIterator]())
    this.finished = this.#train(scheduler, events)
    this.finished.catch(() => {})
  }

  /** Ends all jobs, each at its next round. */
  stop(): void {
    for (const job of this.jobs) job.stop()
  }

  /** All events from now on. Ends after `finished`. */
  [Symbol.asyncIterator](): AsyncIterableIterator<CrossoverEvent, undefined> {
    return this.#stream[Symbol.asyncIterator]()
  }

  async #watch(
    options: { readonly dashboard: true | { readonly port?: number }; readonly jobs: number },
    lease: Handle
  ): Promise<JobsWatch> {
    const { JobsWatch: Watch } = await import('../dashboard/jobs-watch.js')
    const status = () => {
      if (this.#mode === 'shared') return 'all may compute at any time'
      const job = engine.leaseHolder(lease)
      return job < 0 ? 'no job has a turn now' : `job ${job} computes now`
    }
    const seconds = () => (this.#mode === 'shared' ? undefined : engine.leaseFigures(lease).map((job) => job.seconds))
    return Watch.open({ ...options, device: { status, seconds } })
  }

  /** The engine, as the scheduler needs it: how the jobs share the device is known here, too. */
  #engineOfScheduler(): DeviceSchedulerOptions['engine'] {
    const setLease = (lease: Handle, turns: LeaseTurns) => {
      engine.setLease(lease, turns)
      this.#mode = turns.mode
    }
    return { setLease, leaseFigures: (lease) => engine.leaseFigures(lease), leaseHolder: (lease) => engine.leaseHolder(lease) }
  }

  async #train(options: DeviceSchedulerOptions, events: readonly AsyncIterator<JobEvent, undefined>[]): Promise<CrossoverFinishedEvent> {
    const { showLive } = await import('../runtime/live-processes.js')
    const { ActorSystem } = await import('../runtime/system.js')
    const { DeviceScheduler: Scheduler } = await import('./device-scheduler.js')
    const system = new ActorSystem()
    try {
      const scheduler = await system.spawnLocal(Scheduler, options, { name: 'device scheduler' })
      let status = ''
      const timer = setInterval(
        () =>
          void scheduler.ask
            .status()
            .then((text) => (status = text))
            .catch(() => {}),
        500
      ).unref()
      using _asking = { [Symbol.dispose]: () => clearInterval(timer) }
      using _live = showLive({ name: `${this.jobs.length} jobs on one device`, actors: () => system.snapshot(), detail: () => status })
      const run = () => scheduler.askWith({ deadline: Infinity }).run()
      const outcome = this.#hosts ? this.#hosts.decided(run) : run()
      outcome.catch(() => {})
      const ends = await Promise.all(events.map((own, number) => this.#forwardEvents(own, number, scheduler)))
      const { jobs, ...all } = await outcome
      const finished: CrossoverFinishedEvent = { event: 'finished', ...all, jobs: jobs.map((job, number) => ({ ...ends[number], ...job })) }
      this.#stream.push(finished)
      this.#stream.end()
      return finished
    } catch (error) {
      this.stop()
      this.#stream.end({ error })
      throw error
    } finally {
      await system.stop()
      await this.#hosts?.end()
      this.#handles.release()
    }
  }

  /** Emits the job's events until it has ended. Resolves with how it has. */
  async #forwardEvents(
    events: AsyncIterator<JobEvent, undefined>,
    number: number,
    scheduler: ActorRef<DeviceScheduler>
  ): Promise<Pick<CrossedJob, 'weightsSha256' | 'failed'>> {
    try {
      for (let next = await events.next(); !next.done; next = await events.next()) this.#stream.push({ ...next.value, job: number })
      const { weightsSha256 } = await this.jobs[number]!.finished
      return { weightsSha256 }
    } catch (error) {
      const failed = { code: codeOf(error), message: messageOf(error) }
      this.#stream.push({ event: 'failed', job: number, ...failed })
      return { failed }
    } finally {
      this.#admission.leave(number)
      this.#ends[number]!.resolve()
      scheduler.tell.ended(number)
    }
  }
}

/** Each job on the page of all. */
function watchedIn(watch: Promise<JobsWatch>): WatchWith {
  return (settings, name) => async (job) => {
    const opened = await watch
    opened.add(job, { id: name, name: titleOf(settings) }, runEvent(settings))
    return opened
  }
}
