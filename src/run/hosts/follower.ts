import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Supervisor } from '../../actors/supervisor.js'
import type { Synchroniser } from '../../actors/synchroniser.js'
import { GROUP_FILE, learnerFile } from '../../checkpoints/checkpoint.js'
import { resumptionIn, type Resumption } from '../../checkpoints/resume.js'
import { writeVectors } from '../../checkpoints/vectors.js'
import type { PlacedParameter } from '../../compiler/program.js'
import type { Engine, Handle } from '../../engine/contract.js'
import { ArbalestError } from '../../errors.js'
import type { FinishedEvent } from '../../observe/events.js'
import type { ActorRef } from '../../runtime/actor-ref.js'
import { capturedLearners } from '../captured-learners.js'
import { StoppedEarly } from '../stopped-early.js'
import { helloOf, type Preparation } from './hello.js'
import { hostErrorOf } from './leader.js'
import type { ForwardedEvent, Order, Report } from './orders.js'
import type { RunHost } from './run-host.js'

/** Thrown where the loss was not finite: the run begins again with lower rates. */
export class HostsBeginAgain extends Error {
  readonly learningRateScale: number

  constructor(learningRateScale: number) {
    super('the run begins again')
    this.learningRateScale = learningRateScale
  }
}

/** The actors that obey. */
export interface FollowingActors {
  readonly synchroniser: ActorRef<Synchroniser>
  readonly supervisor: ActorRef<Supervisor>
  readonly group: Handle
}

/** Seconds after which a host that has failed no longer waits for the first host's answer. */
const ANSWER_SECONDS = 5

/** A host of a run that is not the first one: it obeys the first one's orders. */
export class Follower {
  readonly #host: RunHost
  /** Whether the first host has ended the run. */
  #isOver = false

  constructor(host: RunHost) {
    this.#host = host
  }

  /** Says what this host is about to train. Returns the checkpoint from which the run goes on. Throws the error with which the first host ends the run. */
  async begin(preparation: Preparation): Promise<Resumption | undefined> {
    this.#report({ report: 'hello', hello: helloOf(preparation) })
    const order = await this.#order()
    if (order.order === 'end') throw new StoppedEarly()
    if (order.order !== 'begin') throw new ArbalestError('INTERNAL', `hosts: the order ${order.order} came before begin`)
    if (!order.resumes) return undefined
    const { folder, state, places } = order.resumes
    const own = await this.#host.folder()
    for (const file of [GROUP_FILE, ...places.map(learnerFile)]) await writeFile(join(own, file), await this.#bytes())
    return { ...(await resumptionIn(own, state, preparation.layout)), folder }
  }

  /** Trains as the first host orders, to the end. Throws the error with which the first host ends the run, and HostsBeginAgain. */
  async obey(actors: FollowingActors, engine: Engine, parameters: readonly PlacedParameter[]): Promise<FinishedEvent> {
    const { synchroniser, supervisor } = actors
    for (;;) {
      const order = await this.#order()
      switch (order.order) {
        case 'train':
          await synchroniser.ask.pauseAt(order.until)
          await supervisor.askWith({ deadline: Infinity }).train()
          break
        case 'follow':
          await synchroniser.ask.follow(order.schedule)
          break
        case 'changeRule':
          await synchroniser.ask.changeRule(order.change)
          break
        case 'capture':
          await this.#capture(actors, engine, parameters)
          break
        case 'begin':
          throw new ArbalestError('INTERNAL', 'hosts: the order begin came twice')
        case 'again':
          throw new HostsBeginAgain(order.learningRateScale)
        case 'end':
          return order.finished
      }
    }
  }

  emit(event: ForwardedEvent): void {
    this.#report({ report: 'event', event })
  }

  /** Asks for the end of the run. */
  stop(): void {
    this.#report({ report: 'stop' })
  }

  /** Tells why this host cannot go on, and waits until the first one has ended the run. */
  async fail(error: unknown): Promise<void> {
    if (this.#isOver) return
    this.#report({ report: 'failed', error: hostErrorOf(error) })
    for (;;) {
      const message = await this.#host.mailbox.receive(0, { seconds: ANSWER_SECONDS })
      if (!(message instanceof Uint8Array) && (message as Order).order === 'fail') return
    }
  }

  async #capture({ group, supervisor }: FollowingActors, engine: Engine, parameters: readonly PlacedParameter[]): Promise<void> {
    const snapshots: Handle[] = []
    const keep = (snapshot: Handle) => {
      snapshots.push(snapshot)
      return snapshot
    }
    try {
      const { counts } = engine.snapshotParts(keep(engine.captureGroup(group)))
      const { learners, order } = await capturedLearners(engine, supervisor, counts, keep)
      const files: { place: number; content: Uint8Array }[] = []
      for (const [own, learner] of learners.entries())
        if (learner !== null) files.push({ place: this.#host.placeOf(own), content: await this.#fileOf(learner, engine, parameters) })
      const meets = order.map((own) => this.#host.placeOf(own))
      this.#report({ report: 'captured', places: files.map(({ place }) => place), meets })
      for (const { content } of files) this.#host.mailbox.send(0, content)
    } finally {
      for (const snapshot of snapshots) engine.release(snapshot)
    }
  }

  async #fileOf(snapshot: Handle, engine: Engine, parameters: readonly PlacedParameter[]): Promise<Uint8Array> {
    const path = join(await this.#host.folder(), 'captured')
    await writeVectors(path, parameters, { ...engine.snapshotParts(snapshot), read: (name) => engine.readSnapshot(snapshot, name) })
    return new Uint8Array(await readFile(path))
  }

  #report(report: Report): void {
    this.#host.mailbox.send(0, report)
  }

  /** The next order. Throws the error with which the first host ends the run. */
  async #order(): Promise<Exclude<Order, { order: 'fail' }>> {
    const order = (await this.#host.mailbox.receive(0)) as Order
    this.#isOver = order.order === 'end' || order.order === 'fail'
    if (order.order === 'fail') throw new ArbalestError(order.error.code, order.error.message)
    return order
  }

  async #bytes(): Promise<Uint8Array> {
    return (await this.#host.mailbox.receive(0)) as Uint8Array
  }
}
