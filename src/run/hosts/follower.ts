import { hostname } from 'node:os'
import { join } from 'node:path'
import type { Supervisor } from '../../actors/supervisor.js'
import type { Synchroniser } from '../../actors/synchroniser.js'
import { GROUP_FILE, learnerFile } from '../../checkpoints/checkpoint.js'
import { resumptionIn } from '../../checkpoints/resume.js'
import { writeVectors } from '../../checkpoints/vectors.js'
import type { PlacedParameter } from '../../compiler/program.js'
import type { Engine, Handle } from '../../engine/contract.js'
import { ArbalestError } from '../../errors.js'
import { replaceFile, writeAll } from '../../formats/write-file.js'
import type { Settings } from '../../options/settings.js'
import type { FinishedEvent } from '../../observe/events.js'
import type { RunCall } from '../../protocols/run-ref.js'
import type { ActorRef } from '../../runtime/actor-ref.js'
import { deferred } from '../../runtime/promises.js'
import type { Intervention } from '../../schedules/interventions.js'
import { learnersAt } from '../../schedules/population.js'
import { capturedLearners } from '../captured-learners.js'
import { resumedSettings } from '../run-settings.js'
import { StoppedEarly } from '../stopped-early.js'
import { greetingOf, helloOf, type Beginning, type Preparation } from './hello.js'
import { HostCalls, type HostAnswer, type HostCall } from './host-calls.js'
import { hostErrorOf } from './leader.js'
import { LeaderInbox } from './leader-inbox.js'
import { ANSWERED_AT_ONCE, type HostLearners } from './learners-of-hosts.js'
import type { ForwardedEvent, Order, Report, ToFollower } from './orders.js'
import type { RunHost } from './run-host.js'
import { wholeFile } from './whole-file.js'

/** Thrown where the loss was not finite: the run begins again with lower rates. */
export class HostsBeginAgain extends Error {
  readonly learningRateScale: number
  /** What programs have changed of the run, to be changed again. */
  readonly interventions: readonly Intervention[]

  constructor({ learningRateScale, interventions }: Extract<Order, { order: 'again' }>) {
    super('the run begins again')
    this.learningRateScale = learningRateScale
    this.interventions = interventions
  }
}

/** The actors that obey. */
export interface FollowingActors {
  readonly synchroniser: ActorRef<Synchroniser>
  readonly supervisor: ActorRef<Supervisor>
  readonly group: Handle
  /** What the first host may ask of them. */
  readonly learners: HostLearners
}

/** What comes from the first host. */
type Arrival = Exclude<ToFollower, { order: 'fail' }>

/** What is dealt with in the order in which it came: the orders, and the calls that wait for a rest. */
type Task = Exclude<Arrival, HostAnswer>

/** A host of a run that is not the first one: it obeys the first one's orders. */
export class Follower {
  readonly #host: RunHost
  readonly #calls: HostCalls
  readonly #inbox: LeaderInbox<Arrival, Task>
  #actors = deferred<FollowingActors>()
  #learners = 0
  #leaderHost = ''

  constructor(host: RunHost) {
    this.#host = host
    this.#calls = new HostCalls(host.mailbox, 0)
    this.#inbox = new LeaderInbox(host.mailbox, (message: Arrival) => this.#arrived(message))
  }

  /** How many train on all hosts. */
  get learners(): number {
    return this.#learners
  }

  /** Whether the first host is a process of this machine. */
  get isBesideLeader(): boolean {
    return this.#leaderHost === hostname()
  }

  /** Rejects once nothing more comes from the first host. */
  get over(): Promise<never> {
    return this.#inbox.ended.then(() => {
      throw this.#inbox.failure?.error ?? new StoppedEarly()
    })
  }

  /** The answer of the run's actors on the first host. */
  call(call: RunCall): Promise<unknown> {
    return this.#calls.ask(call.method, [call])
  }

  /** Waits until the first host lets this one prepare the run. Throws the error with which it ends the run. */
  async greet(settings: Settings): Promise<void> {
    this.#report({ report: 'hello', hello: greetingOf(settings) })
    const task = await this.#inbox.next()
    if ('order' in task && task.order === 'end') throw new StoppedEarly()
  }

  /** Says what this host is about to train. Returns how the run begins. Throws the error with which the first host ends the run. */
  async begin(preparation: Preparation): Promise<Beginning> {
    const { settings, layout } = preparation
    this.#report({ report: 'hello', hello: helloOf(preparation) })
    const task = await this.#inbox.next()
    if ('call' in task || task.order !== 'begin') {
      if ('order' in task && task.order === 'end') throw new StoppedEarly()
      throw new ArbalestError('INTERNAL', 'hosts: another order came before begin')
    }
    const { host, resumes, population: schedule } = task
    this.#leaderHost = host
    // As the first host has decided it: programs, memory and lost hosts have changed it already.
    const own = {
      learners: (this.#learners = learnersAt(schedule, resumes?.state.round ?? 0)),
      population: { schedule, tuning: undefined }
    }
    if (!resumes) return { resumption: undefined, settings: { ...settings, ...own } }
    const { folder, state } = resumes
    const resumption = { ...(await resumptionIn(await this.#host.folder(), state, layout)), folder }
    return { resumption, settings: { ...resumedSettings({ ...settings, ...own }, state), ...own } }
  }

  /** Trains as the first host orders, to the end. Throws the error with which the first host ends the run, and HostsBeginAgain. */
  async obey(actors: FollowingActors, engine: Engine, parameters: readonly PlacedParameter[]): Promise<FinishedEvent> {
    const { synchroniser, supervisor } = actors
    this.#actors.resolve(actors)
    try {
      for (;;) {
        const task = await this.#inbox.next()
        if ('call' in task) {
          await this.#answer(task)
          continue
        }
        switch (task.order) {
          case 'train':
            await synchroniser.ask.pauseAt(task.until)
            await this.#train(supervisor)
            break
          case 'gather':
            await this.#train(supervisor)
            break
          case 'resized':
            this.#learners = task.learners
            break
          case 'lost':
            this.#host.lose(task.rank)
            break
          case 'follow':
            await synchroniser.ask.follow(task.schedule)
            break
          case 'changeRule':
            await synchroniser.ask.changeRule(task.change, this.#learners)
            break
          case 'replaceCentral':
            await synchroniser.ask.replaceCentral(task.weights)
            break
          case 'capture':
            await this.#capture(task.states, actors, engine, parameters)
            break
          // To hubs alone.
          case 'serve':
            break
          case 'prepare':
          case 'begin':
            throw new ArbalestError('INTERNAL', `hosts: the order ${task.order} came twice`)
          case 'again':
            throw new HostsBeginAgain(task)
          case 'end':
            return task.finished
        }
      }
    } finally {
      this.#actors = deferred()
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
  fail(error: unknown): Promise<void> {
    return this.#inbox.fail(error)
  }

  /** Until the learners rest. A host that has failed brings nothing to their round: they would wait for it until the link is closed. */
  async #train(supervisor: ActorRef<Supervisor>): Promise<void> {
    await Promise.race([supervisor.askWith({ deadline: Infinity }).train(), this.#inbox.failed])
  }

  /** A failure is told instead, also behind some of the files: the run goes on without this checkpoint, as it does where the first host cannot take one. */
  async #capture(
    states: readonly string[],
    { group, supervisor }: FollowingActors,
    engine: Engine,
    parameters: readonly PlacedParameter[]
  ): Promise<void> {
    const snapshots: Handle[] = []
    const keep = (snapshot: Handle) => {
      snapshots.push(snapshot)
      return snapshot
    }
    try {
      const ofGroup = keep(engine.captureGroup(group))
      const { counts } = engine.snapshotParts(ofGroup)
      const { learners, order } = await capturedLearners(engine, { supervisor, group }, counts, keep)
      const files: { place: number; content: Uint8Array }[] = []
      for (const [own, learner] of learners.entries())
        if (learner !== null) files.push({ place: this.#host.placeOf(own), content: await this.#fileOf(learner, engine, parameters) })
      const meets = order.map((own) => this.#host.placeOf(own))
      const vectors = states.map((state) => new Uint8Array(engine.readSnapshot(ofGroup, state).buffer))
      this.#report({ report: 'captured', places: files.map(({ place }) => place), meets, states })
      for (const { content } of files) this.#host.mailbox.send(0, content)
      for (const vector of vectors) this.#host.mailbox.send(0, vector)
    } catch (error) {
      this.#report({ report: 'notCaptured', error: hostErrorOf(error) })
    } finally {
      for (const snapshot of snapshots) engine.release(snapshot)
    }
  }

  async #fileOf(snapshot: Handle, engine: Engine, parameters: readonly PlacedParameter[]): Promise<Uint8Array> {
    const path = join(await this.#host.folder(), 'captured')
    await writeVectors(path, parameters, { ...engine.snapshotParts(snapshot), read: (name) => engine.readSnapshot(snapshot, name) })
    return wholeFile(path)
  }

  #report(report: Report): void {
    this.#host.mailbox.send(0, report)
  }

  /** Deals with what needs no turn. */
  async #arrived(message: Arrival): Promise<Task | undefined> {
    if ('answer' in message) {
      this.#calls.settle(message)
      return undefined
    }
    if ('call' in message && ANSWERED_AT_ONCE.has(message.method)) {
      void this.#answer(message)
      return undefined
    }
    if ('order' in message && message.order === 'begin') await this.#takeFiles(message)
    return message
  }

  /** The files of a checkpoint follow the order to begin from it. */
  async #takeFiles({ resumes }: Extract<Order, { order: 'begin' }>): Promise<void> {
    if (!resumes) return
    const own = await this.#host.folder()
    for (const file of [GROUP_FILE, ...resumes.places.map(learnerFile)]) {
      const content = (await this.#inbox.take()) as Uint8Array
      await replaceFile(join(own, file), { sync: false, bytes: content.byteLength }, (handle) => writeAll(handle, content))
    }
  }

  /** Answers a call at this host's learners. */
  #answer(call: HostCall): Promise<void> {
    const { method, args } = call
    return this.#calls.answer(call, async () => {
      const { learners } = await this.#actors.promise
      return (learners as unknown as Record<string, (...args: readonly unknown[]) => Promise<unknown>>)[method]!(...args)
    })
  }
}
