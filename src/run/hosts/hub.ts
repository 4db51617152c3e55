import { applySchedule, isAtRest } from '../../actors/group-control.js'
import type { EngineBackend } from '../../compiler/program.js'
import type { Engine, GroupSpec, Handle } from '../../engine/contract.js'
import { freeMemory } from '../../engine/free-memory.js'
import { ArbalestError, mebibytes } from '../../errors.js'
import { poll } from '../../poll.js'
import { helloOfHub } from './hello.js'
import { hostsLevel } from './hosts-level.js'
import { hostErrorOf } from './leader.js'
import { LeaderInbox, type GivenOrder } from './leader-inbox.js'
import type { Report } from './orders.js'
import type { RunHost } from './run-host.js'

type Serve = Extract<GivenOrder, { order: 'serve' }>
type Vector = GroupSpec['initial']

/**
 * A host without learners, which owns all chunks, alone or with other hubs: it makes the sums of all hosts, and applies the rule. It makes the run's group as the
 * first host describes it, and obeys that host's orders as far as they are about the group.
 */
export class Hub {
  readonly #engine: Engine
  readonly #host: RunHost
  /** Orders, and the vectors that follow one of them. */
  readonly #inbox: LeaderInbox<GivenOrder | Vector>
  #group: Handle | undefined

  constructor(engine: Engine, host: RunHost) {
    this.#engine = engine
    this.#host = host
    this.#inbox = new LeaderInbox(host.mailbox, (message) => message)
  }

  /** Asks for the end of the run. */
  stop(): void {
    this.#report({ report: 'stop' })
  }

  /** To the end of the run. Throws the error with which the first host ends it, HOST_LOST, and what the engine throws. */
  async serve(): Promise<void> {
    try {
      this.#report({ report: 'hello', hello: helloOfHub() })
      for (;;) {
        const order = (await this.#inbox.next()) as GivenOrder
        if (order.order === 'end') return
        await this.#obey(order)
      }
    } catch (error) {
      await this.#inbox.fail(error)
      throw error
    } finally {
      this.#leave()
    }
  }

  async #obey(order: GivenOrder): Promise<void> {
    const { order: name } = order
    if (name === 'serve') return this.#begin(order)
    if (name === 'again') return this.#leave()
    if (name === 'train') return this.#train(order.until)
    if (name === 'follow') applySchedule(this.#engine, this.#group!, order.schedule)
    if (name === 'changeRule') this.#engine.setRule(this.#group!, order.change)
    if (name === 'replaceCentral') this.#engine.writeCentral(this.#group!, order.weights)
    if (name === 'capture') this.#capture(order.states)
    // All others are about learners.
  }

  async #begin({ group, ruleAt, sumOrder, schedule, resumes }: Serve): Promise<void> {
    const initial = (await this.#inbox.next()) as Vector
    const vectors: Record<string, Vector> = {}
    for (const name of resumes?.vectors ?? []) vectors[name] = (await this.#inbox.next()) as Vector
    const { handle, capacities } = this.#host
    if (group.rule.kind === 'asynchronous') throw new ArbalestError('INTERNAL', 'hub: received an asynchronous rule')
    this.#checkMemory(group.backend, group.layout.bytes)
    const level = hostsLevel(this.#engine, handle, capacities, { layout: group.layout, rule: group.rule, ruleAt, order: sumOrder })
    this.#group = this.#engine.createGroup({ ...group, initial, devices: 1, levels: [level] })
    if (resumes) this.#engine.restoreGroup(this.#group, { vectors, counts: resumes.counts })
    applySchedule(this.#engine, this.#group, schedule)
  }

  /** Otherwise the system would end this process in the middle of the first round, and with it the other jobs that it serves. */
  #checkMemory(backend: EngineBackend, bytes: number): void {
    const { ranks, hubs } = this.#host
    // Two central models, and what all hosts send of its own part.
    const wanted = bytes * (2 + ranks.length / hubs.length)
    const free = freeMemory(this.#engine, { backend })
    if (wanted <= free) return
    const figures = `the sums of ${ranks.length} hosts take at least ${mebibytes(wanted)} where ${mebibytes(free)} are free`
    throw new ArbalestError('OUT_OF_MEMORY', `hub: ${figures}; use more hubs, or a machine with more memory for it`, {
      data: { wanted, free }
    })
  }

  /** Takes part in all rounds before this one, until the hosts rest. */
  async #train(until: number): Promise<void> {
    this.#engine.setPause(this.#group!, until)
    await poll(() => {
      if (isAtRest(this.#engine, this.#group!)) return true
      if (this.#inbox.failure) throw this.#inbox.failure.error
      return false
    }, 5)
  }

  /** A failure is told instead, also behind some of the vectors: the run goes on without this checkpoint. */
  #capture(states: readonly string[]): void {
    let snapshot: Handle | undefined
    try {
      snapshot = this.#engine.captureGroup(this.#group!)
      this.#report({ report: 'captured', places: [], meets: [], states })
      for (const state of states) this.#host.mailbox.send(0, new Uint8Array(this.#engine.readSnapshot(snapshot, state).buffer))
    } catch (error) {
      this.#report({ report: 'notCaptured', error: hostErrorOf(error) })
    } finally {
      if (snapshot !== undefined) this.#engine.release(snapshot)
    }
  }

  /** Over hosts a group that is in a round is released once all of them have been told of its stop. */
  #leave(): void {
    if (this.#group === undefined) return
    this.#engine.stop(this.#group)
    this.#engine.release(this.#group)
    this.#group = undefined
  }

  #report(report: Report): void {
    this.#host.mailbox.send(0, report)
  }
}
