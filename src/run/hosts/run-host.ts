import { mkdtemp } from 'node:fs/promises'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LearnerFailure } from '../../actors/learner-failure.js'
import type { Engine, Handle, HostsSpec } from '../../engine/contract.js'
import { ArbalestError, invalidOption } from '../../errors.js'
import type { Choice } from '../../hosts/exchange/choose-exchange.js'
import { checkRacks } from '../../hosts/exchange/racks.js'
import { HostMailbox } from '../../hosts/host-mailbox.js'
import { endHosts, openHosts } from '../../hosts/hosts-link.js'
import { launchedProcess } from '../../hosts/launcher.js'
import type { PopulationSettings } from '../../options/learners.js'
import type { Settings } from '../../options/settings.js'
import { MOST_LEARNERS } from '../../schedules/population.js'

/** Seconds that hosts wait for each other at the end of a run: learners that are being replaced still come to rest. */
const END_SECONDS = 30

/** This process as one of the hosts of a run. */
export class RunHost implements Disposable {
  readonly handle: Handle
  readonly mailbox: HostMailbox
  /** How the hosts sum, once they have chosen. */
  exchange: Choice | undefined
  readonly #engine: Engine
  /** Messages alone do not keep the process alive. */
  readonly #alive = setInterval(() => {}, 60_000)
  /** The hosts among which learners are dealt out. */
  #ranks: readonly number[]
  #folder: Promise<string> | undefined

  private constructor(engine: Engine, handle: Handle) {
    this.#engine = engine
    this.handle = handle
    this.mailbox = new HostMailbox(engine, handle)
    this.#ranks = Array.from({ length: this.mailbox.size }, (_, rank) => rank)
  }

  /** Waits for the other hosts. Rejects with BACKEND_UNAVAILABLE. */
  static async open(engine: Engine, spec: HostsSpec): Promise<RunHost> {
    const host = new RunHost(engine, await openHosts(engine, spec))
    const launched = spec.kind === 'mpi' ? launchedProcess() : undefined
    if (!launched || launched.size === host.size) return host
    host[Symbol.dispose]()
    throw new ArbalestError(
      'BACKEND_UNAVAILABLE',
      `hosts: ${launched.launcher} has started ${launched.size} processes, and MPI knows ${host.size}; use the launcher of the MPI that was built`
    )
  }

  get rank(): number {
    return this.mailbox.rank
  }

  /** The hosts that are there. */
  get ranks(): readonly number[] {
    return this.#ranks
  }

  /** How many hosts there are. */
  get size(): number {
    return this.#ranks.length
  }

  /** How much of the sums each host makes beside the others, by rank: those that are there make equal parts. */
  get capacities(): readonly number[] {
    return Array.from({ length: this.mailbox.size }, (_, rank) => (this.#ranks.includes(rank) ? 1 : 0))
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

  /** The members of the groups of all hosts as far as this one knows: its own, and the others if none of its own is missing. */
  membersOfAll(own: readonly number[], all: number): readonly number[] {
    return own.length === this.learnersOf(all) ? Array.from({ length: all }, (_, place) => place) : own
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
    const { population, devices, dryRun } = given
    if (dryRun) throw invalidOption('dryRun', true, 'start one process for a dry run')
    if (devices.racks) checkRacks(devices.racks, this.mailbox.size, devices.exchange)
    const all = this.#populationOf(population)
    const fewest = Math.min(...all.schedule.map((change) => change.learners))
    if (fewest < this.size) throw invalidOption('learners', fewest, `use at least ${this.size}: one for each host`)
    return {
      ...given,
      learners: all.schedule[0]!.learners,
      population: all,
      devices: { ...devices, levels: [...devices.levels, 'hosts'], ordered: true }
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

  /** If their number is tuned, each host has as many learners as any other. */
  #populationOf({ schedule, tuning }: PopulationSettings): PopulationSettings {
    if (!tuning) return { schedule, tuning }
    const { size } = this
    const most = Math.max(size, Math.floor(Math.min(MOST_LEARNERS, tuning.most * size) / size) * size)
    return {
      schedule: schedule.map((change) => ({ ...change, learners: Math.min(change.learners * size, most) })),
      tuning: { ...tuning, most, by: tuning.by * size }
    }
  }

  /** For files that this process alone reads; removed at the end. */
  folder(): Promise<string> {
    this.#folder ??= mkdtemp(join(tmpdir(), 'arbalest-host-'))
    return this.#folder
  }

  /** Ends the link, when every host has called this. Rejects with HOST_LOST. */
  end(): Promise<void> {
    return endHosts(this.#engine, this.handle, END_SECONDS)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#alive)
    this.#engine.release(this.handle)
    void this.#folder?.then((folder) => rmSync(folder, { recursive: true, force: true }))
  }
}
