import { hostname } from 'node:os'
import { join } from 'node:path'
import { GROUP_FILE } from '../../checkpoints/checkpoint.js'
import type { Resumption } from '../../checkpoints/resume.js'
import type { GroupSpec, SnapshotContents } from '../../engine/contract.js'
import { ArbalestError, codeOf, messageOf } from '../../errors.js'
import type { Settings } from '../../options/settings.js'
import { asError } from '../../runtime/errors-across-threads.js'
import { deferred, type Deferred } from '../../runtime/promises.js'
import type { PopulationSchedule } from '../../schedules/population.js'
import { checkHellos, greetingOf, helloOf, type Hello, type Preparation } from './hello.js'
import { HostCalls } from './host-calls.js'
import type { ForwardedEvent, HostError, Order, Report, ServedGroup, ToLeader } from './orders.js'
import type { RunHost } from './run-host.js'
import { wholeFile } from './whole-file.js'

/** The states of a host that rests. */
export interface CapturedHost {
  /** The file of each learner in a checkpoint, by its place in the run; learners that have not begun have none. */
  readonly files: ReadonlyMap<number, Uint8Array>
  /** All places of the host, in the order in which its learners meet. */
  readonly meets: readonly number[]
  /** Vectors of its group's snapshot, in canonical order. */
  readonly states: ReadonlyMap<string, Uint8Array>
}

type FirstGroup = ServedGroup & Pick<GroupSpec, 'initial'>

/** How a run's group begins. */
export interface GroupBeginning extends Pick<Extract<Order, { order: 'serve' }>, 'ruleAt' | 'sumOrder' | 'schedule'> {
  /** The state of a group that it continues. */
  readonly resumes?: SnapshotContents
}

interface Answer {
  readonly report: Report
  readonly files: readonly Uint8Array[]
}

/** A host that is lost, while the others go on. */
export interface LostHost {
  readonly rank: number
  readonly error: Error
}

/** The first host of a run: it tells the others what to do, and listens to all of them. */
export class Leader {
  readonly #host: RunHost
  readonly #failed = deferred<never>()
  #failure: Error | undefined
  /** What each host answers next. */
  readonly #answers = new Map<number, Deferred<Answer>>()
  readonly #stop: () => void
  readonly #calls = new Map<number, HostCalls>()
  readonly #deliver: (call: unknown) => Promise<unknown>
  #emit: (event: ForwardedEvent) => void = () => {}
  #ended = false
  #goesOn = false
  readonly #lost: LostHost[] = []
  #onLoss: () => void = () => {}

  /** `deliver` takes what programs on other hosts send to the run's actors; `stop`: the user of another process asks for the end of the run. */
  constructor(host: RunHost, deliver: (call: unknown) => Promise<unknown>, stop: () => void) {
    this.#host = host
    this.#deliver = deliver
    this.#stop = stop
    // It is awaited only while something is wanted of the other hosts.
    this.#failed.promise.catch(() => {})
    for (const rank of host.mailbox.others) {
      this.#answers.set(rank, answer())
      this.#calls.set(rank, new HostCalls(host.mailbox, rank))
      this.#listen(rank).catch((error: unknown) => this.#lose(rank, asError(error)))
    }
  }

  /**
   * From now on the run goes on without hosts that are lost, where the link can; `onLoss` is called for each. Before all hosts have begun, and where they
   * cannot go on, a loss ends the run.
   */
  goOnWithoutLost(onLoss: () => void): void {
    this.#goesOn = true
    this.#onLoss = onLoss
  }

  /** Whether hosts are lost that takeLost() has not returned. */
  get hasLost(): boolean {
    return this.#lost.length > 0
  }

  /** The hosts that are lost since the last call. */
  takeLost(): readonly LostHost[] {
    return this.#lost.splice(0)
  }

  /** Rejects when another host fails, or is lost and the others cannot go on. */
  get failed(): Promise<never> {
    return this.#failed.promise
  }

  /**
   * Ends the run of the other hosts at once if it ends by this failure of one of them: they would wait for that host in a round, which they could not be told of any more
   * once this one has left it.
   */
  passOn(error: unknown): void {
    if (error !== this.#failure) return
    try {
      this.order({ order: 'fail', error: hostErrorOf(error) })
    } catch {
      // The link has failed, which ends their runs by itself.
    }
  }

  /** From now on events of other hosts go there. */
  forwardTo(emit: (event: ForwardedEvent) => void): void {
    this.#emit = emit
  }

  /** To all other hosts, or to some. */
  order(order: Order, ranks = this.#host.mailbox.others): void {
    for (const rank of ranks) this.#host.mailbox.send(rank, order)
  }

  /** Lets the hubs make their parts of the run's group. */
  serve({ backend, layout, batch, rule, optimiser, average, initial }: FirstGroup, { resumes, ...about }: GroupBeginning): void {
    const group = { backend, layout, batch, rule, ...(optimiser && { optimiser }), ...(average && { average }) }
    const { vectors = {}, counts = {} } = resumes ?? {}
    const states = resumes && { vectors: Object.keys(vectors), counts }
    for (const hub of this.#host.hubs) {
      this.#host.mailbox.send(hub, { order: 'serve', group, ...about, ...(states && { resumes: states }) } satisfies Order)
      for (const vector of [initial, ...Object.values(vectors)]) this.#host.mailbox.send(hub, vector)
    }
  }

  /** The answer of another host to a call of its learners. Rejects when it is lost, and when the run ends by the failure of any host. */
  ask(rank: number, method: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#failure) return Promise.reject(this.#failure)
    const calls = this.#calls.get(rank)
    return calls?.ask(method, args) ?? Promise.reject(new ArbalestError('HOST_LOST', `hosts: rank ${rank} is lost`, { data: { rank } }))
  }

  /** Lets the others prepare the run. Rejects with HOSTS_DIFFER if one of them has other options, or a hub another version. */
  async greet(settings: Settings): Promise<void> {
    const own = greetingOf(settings)
    const version = { version: own.about['version'] }
    const trainers = this.#trainers
    const { hubs } = this.#host
    const told = await this.#hellos([...trainers, ...hubs])
    checkHellos([own, ...told.slice(0, trainers.length)], trainers)
    checkHellos([{ ...own, about: version }, ...told.slice(trainers.length)], hubs)
    this.order({ order: 'prepare' })
  }

  /** Waits until all hosts are prepared. Throws HOSTS_DIFFER if one of them is about to train something else. */
  async meet(preparation: Preparation): Promise<void> {
    const trainers = this.#trainers
    checkHellos([helloOf(preparation), ...(await this.#hellos(trainers))], trainers)
  }

  /** Lets the others begin, from a checkpoint if there is one: a folder that only this host needs to reach. */
  async begin(resumption: Resumption | undefined, population: PopulationSchedule): Promise<void> {
    const host = hostname()
    if (!resumption) return this.order({ order: 'begin', host, population }, this.#trainers)
    const { folder, state } = resumption
    for (const rank of this.#trainers) {
      const places = state.learners.filter((place) => this.#host.rankOf(place) === rank && resumption.learner(place) !== undefined)
      this.#host.mailbox.send(rank, { order: 'begin', host, population, resumes: { folder, state, places } } satisfies Order)
      for (const path of [join(folder, GROUP_FILE), ...places.map((place) => resumption.learner(place)!)])
        this.#host.mailbox.send(rank, await wholeFile(path))
    }
  }

  /**
   * The states of each other host, by rank, while they rest: those of its learners, and these of its group. Rejects with HOST_LOST if one is lost
   * meanwhile, and with the error of one that cannot copy them.
   */
  async capture(states: readonly string[]): Promise<readonly CapturedHost[]> {
    this.order({ order: 'capture', states })
    const ranks = [...this.#answers.keys()]
    return (await this.#answersOf(ranks)).map(({ report, files }, host) => {
      if (report.report === 'notCaptured') throw errorOf(ranks[host]!, report.error)
      const { places, meets } = report as Extract<Report, { report: 'captured' }>
      return {
        files: new Map(places.map((place, i) => [place, files[i]!])),
        meets,
        states: new Map(states.map((state, i) => [state, files[places.length + i]!]))
      }
    })
  }

  /** The last order. */
  end(order: Extract<Order, { order: 'end' | 'fail' }>): void {
    this.#ended = true
    this.order(order)
  }

  /** The other hosts that train. */
  get #trainers(): readonly number[] {
    return this.#host.ranks.filter((rank) => this.#answers.has(rank))
  }

  async #hellos(ranks: readonly number[]): Promise<readonly Hello[]> {
    return (await this.#answersOf(ranks)).map(({ report }) => (report as Extract<Report, { report: 'hello' }>).hello)
  }

  async #answersOf(ranks: readonly number[]): Promise<readonly Answer[]> {
    const awaited = ranks.map((rank) => this.#answers.get(rank)!.promise)
    const outcomes = await Promise.race([Promise.allSettled(awaited), this.failed])
    for (const rank of ranks) if (this.#answers.has(rank)) this.#answers.set(rank, answer())
    return outcomes.map((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    })
  }

  async #listen(rank: number): Promise<void> {
    while (!this.#ended) await this.#take(rank, (await this.#host.mailbox.receive(rank)) as ToLeader)
  }

  async #take(rank: number, report: ToLeader): Promise<void> {
    if ('call' in report) void this.#calls.get(rank)!.answer(report, () => this.#deliver(report.args[0]))
    else if ('answer' in report) this.#calls.get(rank)!.settle(report)
    else if (report.report === 'event') this.#emit(report.event)
    else if (report.report === 'stop') this.#stop()
    else if (report.report === 'failed') throw errorOf(rank, report.error)
    else if (report.report === 'captured') await this.#takeFiles(rank, report)
    else this.#answers.get(rank)!.resolve({ report, files: [] })
  }

  async #takeFiles(rank: number, report: Extract<Report, { report: 'captured' }>): Promise<void> {
    const files: Uint8Array[] = []
    for (const _ of [...report.places, ...report.states]) {
      const file = (await this.#host.mailbox.receive(rank)) as Uint8Array | ToLeader
      // The host cannot give the rest of them, and tells why.
      if (!(file instanceof Uint8Array)) return this.#take(rank, file)
      files.push(file)
    }
    this.#answers.get(rank)!.resolve({ report, files })
  }

  #lose(rank: number, error: Error): void {
    // With a hub the run loses its sums, and states of the optimiser.
    const isNeeded = this.#host.hubs.includes(rank)
    if (!this.#goesOn || this.#ended || isNeeded || !this.#isLostAlone(rank)) {
      this.#failure ??= error
      // A race of each ask against `failed` would keep every answer until the end of the run.
      for (const calls of this.#calls.values()) calls.lose(this.#failure)
      return this.#failed.reject(this.#failure)
    }
    this.#lost.push({ rank, error })
    this.#answers.get(rank)?.reject(error)
    this.#answers.delete(rank)
    this.#calls.get(rank)?.lose(error)
    this.#calls.delete(rank)
    this.#onLoss()
  }

  #isLostAlone(rank: number): boolean {
    try {
      return this.#host.mailbox.lost.includes(rank)
    } catch {
      return false
    }
  }
}

/** The next one of a host that is lost need not be awaited. */
function answer(): Deferred<Answer> {
  const next = deferred<Answer>()
  next.promise.catch(() => {})
  return next
}

/** As it can be sent. */
export function hostErrorOf(error: unknown): HostError {
  return { host: hostname(), code: codeOf(error), message: messageOf(error) }
}

function errorOf(rank: number, { host, code, message }: HostError): ArbalestError {
  return new ArbalestError(code, `hosts: rank ${rank} (${host}): ${message}`, { data: { rank, host } })
}
