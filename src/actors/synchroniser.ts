import type { Engine, GroupRule, GroupSpec, GroupStatus, Handle, RoundFigures, RuleChange, SnapshotContents } from '../engine/contract.js'
import { ArbalestError, invalidOption } from '../errors.js'
import { parameterTensors } from '../formats/tensor.js'
import { poll } from '../poll.js'
import { changedRule } from '../rules/changed-rule.js'
import { DeferredReply } from '../runtime/actor.js'
import { changedLearningRates, ruleChangeOf, type SettingChange, type RunPlace } from '../schedules/interventions.js'
import { learningRateAt } from '../schedules/pieces.js'
import type { CentralModel, CentralWeights, RunControl, SynchroniserProtocol, SynchroniserStatus } from '../protocols/protocols.js'
import { applySchedule, isAtRest, type GroupSchedule } from './group-control.js'
import { checkSetup } from './setup-checks.js'

/** The messages by which a run conducts its synchroniser. */
export interface SynchroniserControlProtocol {
  /** The group in the engine, which learners join and evaluators copy the central model from. */
  group(): Handle

  /**
   * Looks at the status at once, in this thread and without a turn of the actor. Undefined if a class of the user's own answers `status`. The function
   * throws ACTOR_GONE once the actor has stopped.
   */
  statusReader(): (() => SynchroniserStatus) | undefined

  /** Sets the learning rates, the restarts and the end of the run. */
  follow(schedule: GroupSchedule): void

  /** All learners pause at the start of this round, or of the first round that none of them has entered if that is later. */
  pauseAt(round: number): void

  /** Moves the pause on to a later round. False, and nothing changes, if all learners have reached it: some may have paused already. */
  extendPause(round: number): boolean

  /** For each whole iteration since `fromIteration` the mean of the learners' losses. */
  losses(fromIteration: number): Float32Array

  /** Whether all numbers of the central model, and of the evaluation average if there is one, are finite. */
  isFinite(): boolean

  /** The model that is evaluated, in canonical order: the evaluation average, or the central model if there is none. */
  centralVector(): Float32Array | Float64Array

  /** Overwrites the central model, in canonical order, while no learner trains. */
  replaceCentral(weights: Float32Array | Float64Array): void

  /** Changes the rule of at most so many learners from the next round on, while no round is in progress. Throws INVALID_OPTION, and INVALID_STATE otherwise. */
  changeRule(change: RuleChange, learners: number): void
}

/** The options of a synchroniser; it runs in its spawner's thread. */
export interface SynchroniserSetup {
  readonly engine: Engine
  readonly group: GroupSpec
  /** The state of a group that this one continues. */
  readonly resumes?: SnapshotContents
  /** The run that makes the changes; absent in a system that is wired by hand. */
  readonly control?: RunControl
}

/** Owns the group and its central model. It only sets numbers: the learners' threads compute the averages in native code. */
export class Synchroniser implements SynchroniserProtocol, SynchroniserControlProtocol {
  readonly #engine: Engine
  readonly #group: Handle
  readonly #layout: GroupSpec['layout']
  readonly #control: RunControl | undefined
  #rule: GroupRule
  #schedule: GroupSchedule = { learningRates: [], restarts: [], iterations: Infinity }
  #paused = false
  #stopped = false

  constructor(setup: SynchroniserSetup) {
    checkSetup(setup, 'engine', 'group')
    const { engine, group, resumes, control } = setup
    this.#engine = engine
    this.#group = engine.createGroup(group)
    this.#layout = group.layout
    this.#rule = group.rule
    this.#control = control
    try {
      if (resumes) engine.restoreGroup(this.#group, resumes)
    } catch (error) {
      // The `stopping` hook does not run for an actor whose constructor throws.
      engine.release(this.#group)
      throw error
    }
  }

  group(): Handle {
    return this.#group
  }

  follow(schedule: GroupSchedule): void {
    applySchedule(this.#engine, this.#group, schedule)
    this.#schedule = schedule
  }

  pauseAt(round: number): void {
    this.#engine.setPause(this.#group, round)
  }

  extendPause(round: number): boolean {
    return this.#engine.extendPause(this.#group, round)
  }

  status(): SynchroniserStatus {
    const { round, iterations, position, members, arrived, notFiniteAt } = this.#groupStatus()
    const { learningRates } = this.#schedule
    // All names in one literal: what continues a spread object costs a multiple of it.
    return {
      round,
      iterations,
      position,
      members,
      arrived,
      notFiniteAt,
      paused: this.#control ? this.#control.paused : this.#paused,
      learningRate: learningRates.length > 0 ? learningRateAt(learningRates, iterations) : 0,
      rule: this.#rule
    }
  }

  statusReader(): (() => SynchroniserStatus) | undefined {
    if (this.status !== Synchroniser.prototype.status) return undefined
    return () => {
      if (this.#stopped) throw stoppedBefore()
      return this.status()
    }
  }

  losses(fromIteration: number): Float32Array {
    return this.#engine.losses(this.#group, fromIteration)
  }

  isFinite(): boolean {
    return this.#engine.isFinite(this.#group)
  }

  centralVector(): Float32Array | Float64Array {
    return this.#engine.readCentral(this.#group)
  }

  replaceCentral(weights: Float32Array | Float64Array): void {
    this.#engine.writeCentral(this.#group, weights)
  }

  changeRule(change: RuleChange, learners: number): void {
    const rule = changedRule(this.#rule, change, learners)
    this.#engine.setRule(this.#group, change)
    this.#rule = rule
  }

  pause(): DeferredReply<RunPlace> {
    if (this.#control) return new DeferredReply(this.#control.request({ kind: 'pause' }) as Promise<RunPlace>)
    this.#paused = true
    this.pauseAt(0)
    return new DeferredReply(this.#until(() => (isAtRest(this.#engine, this.#group) ? this.#place() : undefined)))
  }

  resume(): void {
    if (this.#control) return this.#control.resume()
    this.#paused = false
    this.#engine.setPause(this.#group, Infinity)
  }

  set(change: SettingChange): DeferredReply<RunPlace> {
    // A number would change nothing, and no error would say so.
    if (typeof change !== 'object' || change === null || Array.isArray(change))
      throw invalidOption('set', change, 'give an object of what changes, such as { learningRate: 0.01 }')
    if (this.#control) return new DeferredReply(this.#control.request({ ...change, kind: 'set' }) as Promise<RunPlace>)
    this.changeRule(ruleChangeOf(change), Math.max(1, this.#groupStatus().members.length))
    const place = this.#place()
    const changes = [{ ...place, ...change, kind: 'set' as const }]
    this.follow({ ...this.#schedule, learningRates: changedLearningRates(this.#schedule.learningRates, changes) })
    return new DeferredReply(Promise.resolve(place))
  }

  central(): CentralWeights {
    return { ...this.#place(), weights: parameterTensors(this.#layout.parameters, this.centralVector()) }
  }

  model(): DeferredReply<CentralModel> {
    if (this.#control) return new DeferredReply(this.#control.request({ kind: 'model' }) as Promise<CentralModel>)
    throw new ArbalestError(
      'INVALID_STATE',
      'model: a system that is wired by hand has its evaluators in hands of its own; ask for central'
    )
  }

  roundsAfter(round: number): DeferredReply<readonly RoundFigures[]> {
    checkRound(round)
    const look = () => this.#engine.roundFigures(this.#group, round)
    return new DeferredReply(this.#until(() => present(look())))
  }

  sampledRounds(round: number): readonly RoundFigures[] {
    checkRound(round)
    return this.#engine.sampledFigures(this.#group, round)
  }

  /** Called by the runtime. */
  stopping(): void {
    this.#stopped = true
    this.#engine.stop(this.#group)
    this.#engine.release(this.#group)
  }

  #groupStatus(): GroupStatus {
    return this.#engine.groupStatus(this.#group)
  }

  #place(): RunPlace {
    const { round, iterations: iteration } = this.#groupStatus()
    return { round, iteration }
  }

  /** What `look` finds, as soon as it finds something. Rejects with ACTOR_GONE once the actor stops. */
  #until<Found extends object>(look: () => Found | undefined): Promise<Found> {
    return poll(() => {
      if (this.#stopped) throw stoppedBefore()
      return look()
    })
  }
}

function checkRound(round: number): void {
  if (!Number.isSafeInteger(round)) throw invalidOption('round', round, 'give the number of a round; -1 for all rounds')
}

function stoppedBefore(): ArbalestError {
  return new ArbalestError('ACTOR_GONE', 'synchroniser: it was stopped before there was an answer')
}

function present<T>(all: readonly T[]): readonly T[] | undefined {
  return all.length > 0 ? all : undefined
}
