import type { LearnerFailure } from '../../actors/learner-failure.js'
import type { Engine, Handle, HostsSpec, RefusedMessages } from '../../engine/contract.js'
import { ArbalestError, invalidOption } from '../../errors.js'
import type { Choice } from '../../hosts/exchange/choose-exchange.js'
import { checkRacks } from '../../hosts/exchange/racks.js'
import { HostMailbox } from '../../hosts/host-mailbox.js'
import { endHosts, openHosts } from '../../hosts/hosts-link.js'
import { launchedProcess } from '../../hosts/launcher.js'
import type { PopulationSettings } from '../../options/learners.js'
import { needsNorm } from '../../options/optimiser.js'
import type { Settings } from '../../options/settings.js'
import { isStableWith, type SynchroniserSettings } from '../../options/synchroniser.js'
import { MOST_LEARNERS } from '../../schedules/population.js'
import { HostFolder } from './host-folder.js'
import { inMeetingOrder } from './meeting-order.js'
import { exchangeRoles, type HostRole, type HostRoles } from './roles.js'

/** Seconds that hosts wait for each other at the end of a run: learners that are being replaced still come to rest. */
const END_SECONDS = 30

/** This process as one of the hosts of a run. */
export class RunHost implements Disposable {
  readonly handle: Handle
  readonly mailbox: HostMailbox
  /** How the hosts sum, once they have chosen. */
  exchange: Choice | undefined
  readonly #engine: Engine
  readonly #alive: Disposable
  /** How many jobs the first host has. */
  readonly jobs: number
  /** The ranks of those that make all sums and have no learners. */
  readonly hubs: readonly number[]
  /** The hosts among which learners are dealt out. */
  #ranks: readonly number[]
  #folder: Promise<HostFolder> | undefined

  private constructor(engine: Engine, handle: Handle, mailbox: HostMailbox, { trainers, hubs, jobs }: HostRoles, alive: Disposable) {
    this.#engine = engine
    this.#alive = alive
    this.handle = handle
    this.mailbox = mailbox
    this.jobs = jobs
    this.hubs = hubs
    this.#ranks = trainers
  }

  /** Waits for the other hosts. Rejects with BACKEND_UNAVAILABLE, and INVALID_OPTION where the first process is a hub. */
  static async open(engine: Engine, spec: HostsSpec, role: HostRole = 'trains'): Promise<RunHost> {
    const handle = await openHosts(engine, spec)
    const alive = keptAlive()
    try {
      const mailbox = new HostMailbox(engine, handle)
      checkSize(spec, mailbox.size)
      return new RunHost(engine, handle, mailbox, await exchangeRoles(mailbox, { role, jobs: jobsOf(spec) }), alive)
    } catch (error) {
      alive[Symbol.dispose]()
      engine.release(handle)
      throw error
    }
  }

  get rank(): number {
    return this.mailbox.rank
  }

  /** The hosts that are there and train. */
  get ranks(): readonly number[] {
    return this.#ranks
  }

  /** How many of them there are. */
  get size(): number {
    return this.#ranks.length
  }

  /** How much of the sums each host makes beside the others, by rank: hubs make equal parts, and where there are none those that train do. */
  get capacities(): readonly number[] {
    const owners = this.hubs.length > 0 ? this.hubs : this.#ranks
    return Array.from({ length: this.mailbox.size }, (_, rank) => (owners.includes(rank) ? 1 : 0))
  }

  /** The number of this host, or of another one, among those that are there. */
  numberOf(rank = this.rank): number {
    return this.#ranks.indexOf(rank)
  }

  /** A host is lost: from now on places are those of the learners that are left. The learners of the run rest. */
  lose(rank: number): void {
    this.#ranks = this.#ranks.filter((each) => each !== rank)
  }

  /** How many learners of `all` train on a host: they are dealt out to the hosts in turn. */
  learnersOf(all: number, rank = this.rank): number {
    return Math.floor((all - 1 - this.numberOf(rank)) / this.size) + 1
  }

  /** The place in the run of a learner of a host, or its number in the run. */
  placeOf(own: number, rank = this.rank): number {
    return own * this.size + this.numberOf(rank)
  }

  /** The host of the learner in this place of the run. */
  rankOf(place: number): number {
    return this.#ranks[place % this.size]!
  }

  /** The place on its host. */
  ownPlace(place: number): number {
    return Math.floor(place / this.size)
  }

  /**
   * The members of the groups of all hosts, by their numbers in the run and in the order in which they meet, from those of this one's. Of the other hosts this one knows how many
   * learners they have: the first ones stand for those that have taken their places.
   */
  membersOfAll(own: readonly number[], all: number): readonly number[] {
    const members = (rank: number) => (rank === this.rank ? own : Array.from({ length: this.learnersOf(all, rank) }, (_, i) => i))
    return inMeetingOrder(this.#ranks.map((rank) => members(rank).map((each) => this.placeOf(each, rank))))
  }

  /** The failure of a learner of this host, with places and numbers in the run. */
  failureInRun(failure: LearnerFailure): LearnerFailure {
    const { learner, rank, replacedBy } = failure
    return {
      ...failure,
      learner: this.placeOf(learner),
      rank: this.placeOf(rank),
      replacedBy: replacedBy === null ? null : this.placeOf(replacedBy)
    }
  }

  /** The places in this host of those of the learners that train here. */
  ownPlaces(all: readonly number[]): readonly number[] {
    return all.filter((place) => this.rankOf(place) === this.rank).map((place) => this.ownPlace(place))
  }

  /** The settings of the whole run: `given` are those of one process. Throws INVALID_OPTION. */
  settingsOf(given: Settings): Settings {
    const { population, devices, dryRun, optimiser, synchroniser } = given
    if (dryRun) throw invalidOption('dryRun', true, 'start one process for a dry run')
    if (devices.racks) checkRacks(devices.racks, this.size, devices.exchange)
    if (this.hubs.length > 0) this.#checkHubs(given)
    const all = this.#populationOf(population, synchroniser)
    const fewest = Math.min(...all.schedule.map((change) => change.learners))
    if (fewest < this.size) throw invalidOption('learners', fewest, `use at least ${this.size}: one for each host`)
    // A hub that sends sums would leave the rule to every host.
    const { ruleAt = this.hubs.length > 0 && !needsNorm(optimiser) ? 'owners' : 'all' } = devices
    return {
      ...given,
      learners: all.schedule[0]!.learners,
      population: all,
      devices: { ...devices, ruleAt, levels: [...devices.levels, 'hosts'], ordered: true }
    }
  }

  /** The same settings with the learners of this host alone, for all that is made here. */
  ownSettings<Given extends Pick<Settings, 'learners' | 'population'>>(settings: Given): Given {
    const { schedule, tuning } = settings.population
    const own = schedule.map((change) => ({ ...change, learners: this.learnersOf(change.learners) }))
    return {
      ...settings,
      learners: this.learnersOf(settings.learners),
      population: { schedule: own, tuning: tuning && { ...tuning, most: this.learnersOf(tuning.most) } }
    }
  }

  /** Throws INVALID_OPTION. */
  #checkHubs({ backend, devices: { exchange } }: Settings): void {
    if (this.#engine.capabilities(backend).memory === 'device')
      throw invalidOption('backend', backend, 'use cpu, or start no hub: devices with memories of their own sum in a collective of theirs')
    if (exchange === 'racks' || exchange === 'ring')
      throw invalidOption('exchange', exchange, 'leave it out, or start no hub: all sums are made there')
  }

  /** If their number is tuned, each host has as many learners as any other, and all together no more than the rule takes. */
  #populationOf({ schedule, tuning }: PopulationSettings, synchroniser: SynchroniserSettings): PopulationSettings {
    if (!tuning) return { schedule, tuning }
    const { size } = this
    let most = Math.floor(Math.min(MOST_LEARNERS, tuning.most * size) / size) * size
    while (most > size && !isStableWith(synchroniser, most)) most -= size
    most = Math.max(size, most)
    return {
      schedule: schedule.map((change) => ({ ...change, learners: Math.min(change.learners * size, most) })),
      tuning: { ...tuning, most, by: tuning.by * size }
    }
  }

  /** For files that this process alone reads; removed at the end. Rejects with WRITE_FAILED; the next call tries again. */
  async folder(): Promise<string> {
    const made = (this.#folder ??= HostFolder.make())
    try {
      return (await made).path
    } catch (error) {
      this.#folder = undefined
      throw error
    }
  }

  /** What a sealed link has refused so far. */
  get refused(): RefusedMessages | null {
    return this.#engine.refusedMessages(this.handle)
  }

  /** Ends the link, when every host has called this. Rejects with HOST_LOST. */
  end(): Promise<void> {
    return endHosts(this.#engine, this.handle, END_SECONDS)
  }

  [Symbol.dispose](): void {
    this.#alive[Symbol.dispose]()
    this.#engine.release(this.handle)
    void this.#folder?.then((folder) => folder[Symbol.dispose]())
  }
}

/** Throws BACKEND_UNAVAILABLE. */
function checkSize(spec: HostsSpec, size: number): void {
  const launched = spec.kind === 'mpi' ? launchedProcess() : undefined
  const isPart = spec.kind === 'mpi' && (spec.links?.[spec.number ?? 0]?.length ?? 0) > 0
  if (!launched || isPart || launched.size === size) return
  throw new ArbalestError(
    'BACKEND_UNAVAILABLE',
    `hosts: ${launched.launcher} has started ${launched.size} processes, and MPI knows ${size}; use the launcher of the MPI that was built`
  )
}

/** Several jobs have a link each, and one more for their turns. */
function jobsOf(spec: HostsSpec): number {
  const { links = [] } = spec.kind === 'mpi' ? spec : {}
  return Math.max(1, links.length - 1)
}

/** Messages alone do not keep a process alive. */
function keptAlive(): Disposable {
  const timer = setInterval(() => {}, 60_000)
  return { [Symbol.dispose]: () => clearInterval(timer) }
}
