import { mkdtemp } from 'node:fs/promises'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Engine, Handle, HostsSpec } from '../../engine/contract.js'
import { ArbalestError, invalidOption } from '../../errors.js'
import { HostMailbox } from '../../hosts/host-mailbox.js'
import { launchedProcess } from '../../hosts/launcher.js'
import type { Settings } from '../../options/settings.js'

/** Seconds that processes wait for each other at the end of a run. Hosts of one thread do not wait: they would wait for themselves. */
const END_SECONDS = 5

/** This process as one of the hosts of a run. */
export class RunHost implements Disposable {
  readonly handle: Handle
  readonly mailbox: HostMailbox
  readonly #engine: Engine
  /** Messages alone do not keep the process alive. */
  readonly #alive = setInterval(() => {}, 60_000)
  #folder: Promise<string> | undefined

  readonly #endSeconds: number

  private constructor(engine: Engine, handle: Handle, endSeconds: number) {
    this.#engine = engine
    this.#endSeconds = endSeconds
    this.handle = handle
    this.mailbox = new HostMailbox(engine, handle)
  }

  /** Waits for the other hosts. Throws BACKEND_UNAVAILABLE. */
  static open(engine: Engine, spec: HostsSpec): RunHost {
    const host = new RunHost(engine, engine.openHosts(spec), spec.kind === 'mpi' ? END_SECONDS : 0.05)
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

  get size(): number {
    return this.mailbox.size
  }

  /** How many learners of `all` train here: they are dealt out to the hosts in turn. */
  learnersOf(all: number): number {
    return Math.floor((all - 1 - this.rank) / this.size) + 1
  }

  /** The place in the run of a learner of this host. */
  placeOf(own: number): number {
    return own * this.size + this.rank
  }

  /** The places in this host of those of the learners that train here. */
  ownPlaces(all: readonly number[]): readonly number[] {
    return all.filter((place) => place % this.size === this.rank).map((place) => (place - this.rank) / this.size)
  }

  /** The settings of the whole run: `given` are those of one process. Throws INVALID_OPTION. */
  settingsOf(given: Settings): Settings {
    const { population, devices, learners, dryRun } = given
    if (dryRun) throw invalidOption('dryRun', true, 'start one process for a dry run')
    if (population.schedule.length > 1)
      throw invalidOption('learners', population.schedule, 'use a number: over several hosts it does not change during a run')
    // A number that is not given is that of the cores of every host, and is not tuned.
    const all = population.tuning ? learners * this.size : learners
    if (all < this.size) throw invalidOption('learners', all, `use at least ${this.size}: one for each host`)
    return {
      ...given,
      learners: all,
      population: { schedule: [{ round: 0, learners: all }], tuning: undefined },
      devices: { ...devices, levels: [...devices.levels, 'hosts'], ordered: true }
    }
  }

  /** The same settings with the learners of this host alone, for all that is made here. */
  ownSettings<Given extends Pick<Settings, 'learners' | 'population'>>(settings: Given): Given {
    const learners = this.learnersOf(settings.learners)
    return { ...settings, learners, population: { ...settings.population, schedule: [{ round: 0, learners }] } }
  }

  /** For files that this process alone reads; removed at the end. */
  folder(): Promise<string> {
    this.#folder ??= mkdtemp(join(tmpdir(), 'arbalest-host-'))
    return this.#folder
  }

  /** Ends the link, when every host has called this; blocks the thread until then. Throws HOST_LOST. */
  end(): void {
    this.#engine.endHosts(this.handle, this.#endSeconds)
  }

  [Symbol.dispose](): void {
    clearInterval(this.#alive)
    this.#engine.release(this.handle)
    void this.#folder?.then((folder) => rmSync(folder, { recursive: true, force: true }))
  }
}
