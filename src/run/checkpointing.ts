import type { CheckpointOrder, CheckpointWriterOptions } from '../actors/checkpoint-writer.js'
import type { JobScope } from '../actors/job-scope.js'
import type { Resumption } from '../checkpoints/resume.js'
import { measuredHere, type RunState } from '../checkpoints/run-state.js'
import type { SetAside } from '../checkpoints/set-aside.js'
import { isCheckpointIn } from '../checkpoints/store.js'
import type { Handle, RulePlace } from '../engine/contract.js'
import { ArbalestError, codeOf, warn } from '../errors.js'
import type { FloatTensors } from '../formats/tensor.js'
import type { CheckpointEvent, FinishedEvent } from '../observe/events.js'
import type { CheckpointSettings } from '../options/checkpoint.js'
import { asError } from '../runtime/errors-across-threads.js'
import { capturedLearners, type LearnerSnapshots } from './captured-learners.js'
import { CheckpointWriting } from './checkpoint-writing.js'
import { allLearners, type AllLearners } from './hosts/all-learners.js'
import type { LedHosts } from './hosts/meeting.js'
import { addStates, ownedStates } from './hosts/owned-states.js'
import type { RunActors } from './start/run-actors.js'
import type { PreparedRun } from './prepare/prepare.js'
import type { Schedule } from './schedule.js'

export interface CheckpointingOptions {
  readonly scope: JobScope
  readonly actors: RunActors
  /** Reads the statistics of the model in the evaluators' replica. */
  readonly statistics: () => FloatTensors
  readonly writing: CheckpointWriting
  /** Iterations between two checkpoints; Infinity: only after measurements. */
  readonly period: number
  readonly emit: (event: CheckpointEvent) => void
  /** Absent if this process trains alone. */
  readonly hosts: LedHosts | undefined
  /** Where the sums of several hosts become the next central model. */
  readonly ruleAt: RulePlace | undefined
}

/**
 * What the evaluators' replicas hold when a checkpoint is taken. `measured`: the present central model with its statistics; `measuring`: they are about
 * to hold it; `idle`: an earlier central model.
 */
export type EvaluatorsState = 'measured' | 'measuring' | 'idle'

/** A checkpoint replaces one of the same iteration if it is worth more: its model was measured, or it has at least the model file. */
const WORTH = { measuring: 0, idle: 1, measured: 2 } as const satisfies Record<EvaluatorsState, number>

interface CheckpointSummary {
  readonly iteration: number
  /** What programs had changed of the run before it. */
  readonly interventions: number
  readonly evaluators: EvaluatorsState
}

/** The part of a checkpoint's state that the run loop knows. */
export type LoopState = Omit<RunState, 'learners' | 'order' | 'position'>

export interface StartedCheckpointing {
  readonly checkpoints: Checkpointing
  /** Checkpoints that are not of the run's past, and had to be moved out of the way. */
  readonly setAside: readonly SetAside[]
}

/**
 * Starts the writer. The run must hold the folder. Checkpoints that are not of the run's past are moved aside, and `best`, the checkpoint of the best model so far, is copied
 * where it lies in another folder. Rejects with WRITE_FAILED if others cannot be moved aside.
 */
export async function startCheckpointing(
  { dir: folder, keep, period }: CheckpointSettings,
  { model, dataset, programs: { train }, settings: { devices, until }, resumption, hosts }: PreparedRun,
  actors: RunActors,
  scope: JobScope,
  statistics: () => FloatTensors,
  best: string | undefined,
  emit: (event: CheckpointEvent) => void
): Promise<StartedCheckpointing> {
  const { engineModule, system } = scope
  const options: CheckpointWriterOptions = {
    engine: engineModule.href,
    folder,
    keep,
    monitor: until.monitor,
    parameters: train.parameters.parameters,
    model,
    normalisation: { mean: [...dataset.mean], std: [...dataset.std] },
    classNames: dataset.classNames,
    encoding: dataset.encoding
  }
  const writing = new CheckpointWriting(system, options)
  const begin = resumption && (await isCheckpointIn(folder, resumption.folder)) ? resumption.state.iteration : -1
  const setAside = await writing.begin(begin)
  if (best !== undefined && begin < 0) await writing.copy(setAside.find((each) => each.folder === best)?.movedTo ?? best)
  const checkpoints = new Checkpointing(
    { scope, actors, statistics, writing, period, emit, ruleAt: devices.ruleAt, hosts: hosts && 'leader' in hosts ? hosts : undefined },
    resumption && summaryOf(resumption)
  )
  return { checkpoints, setAside }
}

function summaryOf({ folder, state }: Resumption): CheckpointSummary & { readonly folder: string } {
  return { folder, ...summaryAt(state, measuredHere(state) ? 'measured' : 'idle') }
}

function summaryAt({ iteration, interventions = [] }: LoopState, evaluators: EvaluatorsState): CheckpointSummary {
  return { iteration, interventions: interventions.length, evaluators }
}

/**
 * Takes checkpoints while the learners rest at a round. Only the copies are made then: they are written while training goes on. A checkpoint is skipped
 * if the one before is still being written.
 */
export class Checkpointing {
  readonly #options: CheckpointingOptions
  /** The newest one on the disk. */
  #newest: (CheckpointSummary & { readonly folder: string }) | undefined
  #lastError: Error | undefined
  #underWay: (CheckpointSummary & { readonly done: Promise<void> }) | undefined
  #incomplete = false

  /** `begin`: the checkpoint from which the run goes on. */
  constructor(options: CheckpointingOptions, begin?: CheckpointSummary & { readonly folder: string }) {
    this.#options = options
    this.#newest = begin
  }

  /** The next round before which the learners must rest for a checkpoint. */
  restBefore(round: number, { iterationOf, roundBy }: Schedule): number {
    const { period } = this.#options
    return period === Infinity ? Infinity : roundBy((Math.floor(iterationOf(round) / period) + 1) * period)
  }

  /** Whether a checkpoint is due before this round, if nothing is measured there. */
  isDue(round: number, { iterationOf, roundBy }: Schedule): boolean {
    const { period } = this.#options
    return period !== Infinity && roundBy(Math.floor(iterationOf(round) / period) * period) === round
  }

  /**
   * Copies everything, and resolves when training may go on. A checkpoint that is taken while the evaluators measure has no model file. A failure to
   * copy or to write becomes an event; the run goes on. Rejects if another host is lost meanwhile: the caller takes it again without that host, if the others can go on.
   */
  async take(state: LoopState, evaluators: EvaluatorsState): Promise<void> {
    const summary = summaryAt(state, evaluators)
    // Waits for the disk rather than to skip a measured model: it may be the best, or the last.
    if (evaluators === 'measured') await this.#underWay?.done
    if (covers(this.#newest, summary) || covers(this.#underWay, summary)) return
    if (this.#underWay) {
      this.#emit({ iteration: state.iteration, folder: null, seconds: 0, reason: 'the one before is still being written', code: null })
      return
    }
    const copied = this.#copy(state, summary)
    const write = (order: CheckpointOrder | undefined) => order && this.#write(order, summary)
    const done = copied.then(write, () => {}).finally(() => (this.#underWay = undefined))
    this.#underWay = { ...summary, done }
    try {
      await copied
    } catch (error) {
      await done
      throw error
    }
  }

  /** As `take`, but none is skipped. Resolves when training may go on, with the folder, which rejects with the error of the writing. */
  async save(state: LoopState, evaluators: EvaluatorsState): Promise<{ readonly folder: Promise<string> }> {
    await this.settled()
    await this.take(state, evaluators)
    const written = async () => {
      await this.settled()
      // One of this iteration may be from before a change that a program has made since.
      if (this.#newest && covers(this.#newest, summaryAt(state, evaluators))) return this.#newest.folder
      throw this.#lastError ?? new ArbalestError('WRITE_FAILED', `checkpoint: there is none of iteration ${state.iteration}`)
    }
    const folder = written()
    folder.catch(() => {})
    return { folder }
  }

  /** Whether all checkpoints that were due have been written; call it after `settled`. */
  get completeness(): NonNullable<FinishedEvent['checkpoints']> {
    return this.#incomplete ? 'incomplete' : 'complete'
  }

  /** Resolves when the checkpoint under way is on the disk, or has failed. */
  async settled(): Promise<void> {
    await this.#underWay?.done
  }

  /** undefined if memory does not hold the copies. Rejects if another host is lost meanwhile. */
  async #copy(state: LoopState, { iteration, evaluators }: CheckpointSummary): Promise<CheckpointOrder | undefined> {
    const { scope, actors, statistics, hosts } = this.#options
    const { engine } = scope
    const copies: Handle[] = []
    const keep = (copy: Handle) => {
      copies.push(copy)
      return copy
    }
    try {
      if (evaluators === 'idle') await actors.evaluators.takeCentral()
      const evaluated = evaluators === 'measuring' ? null : keep(engine.captureReplica(actors.evaluators.replica))
      const snapshot = keep(engine.captureGroup(actors.group))
      const { counts } = engine.snapshotParts(snapshot)
      const own = await capturedLearners(engine, actors, counts, keep)
      const { learners, order } = hosts ? await this.#ofAllHosts(hosts, snapshot, own) : own
      return {
        iteration,
        group: snapshot,
        learners,
        evaluated,
        statistics: evaluated === null ? {} : statistics(),
        state: {
          ...state,
          position: counts['position'],
          learners: learners.flatMap((learner, rank) => (learner === null ? [] : [rank])),
          ...(order.some((place, i) => place !== i) && { order })
        }
      }
    } catch (error) {
      for (const copy of copies) engine.release(copy)
      // Without that host, or to the end of the run: it does not go on as it was.
      if (hosts?.leader.hasLost || isOfLostHost(error)) throw error
      this.#fail(iteration, 0, error)
      return undefined
    }
  }

  /** The learners of all hosts; the group's snapshot gets the states that only other hosts have. */
  async #ofAllHosts({ host, leader }: LedHosts, snapshot: Handle, own: LearnerSnapshots): Promise<AllLearners> {
    const { scope, ruleAt } = this.#options
    const states = ruleAt === 'owners' ? ownedStates(scope.engine, snapshot) : []
    const others = await leader.capture(states)
    addStates(
      scope.engine,
      snapshot,
      others.map((each) => each.states)
    )
    return allLearners(host, own, others)
  }

  async #write(order: CheckpointOrder, summary: CheckpointSummary): Promise<void> {
    const { scope, writing } = this.#options
    const { iteration, group, learners, evaluated } = order
    const start = performance.now()
    try {
      const folder = await writing.write(order)
      this.#newest = { ...summary, folder }
      this.#emit({ iteration, folder, seconds: (performance.now() - start) / 1000, reason: null, code: null })
    } catch (error) {
      this.#fail(iteration, (performance.now() - start) / 1000, error)
    } finally {
      for (const handle of [group, evaluated, ...learners]) if (typeof handle === 'number') scope.engine.release(handle)
    }
  }

  /** Emits a failure. The first one is a warning as well, and the `finished` event says that a checkpoint is missing. */
  #fail(iteration: number, seconds: number, thrown: unknown): void {
    const error = asError(thrown)
    const { message: reason } = error
    this.#lastError = error
    if (!this.#incomplete) warn(`no checkpoint of iteration ${iteration}: ${reason}; the run goes on`)
    this.#incomplete = true
    this.#emit({ iteration, folder: null, seconds, reason, code: codeOf(error) })
  }

  #emit(event: Omit<CheckpointEvent, 'event'>): void {
    this.#options.emit({ event: 'checkpoint', ...event })
  }
}

function isOfLostHost(error: unknown): boolean {
  return error instanceof ArbalestError && error.code === 'HOST_LOST'
}

function covers(taken: CheckpointSummary | undefined, wanted: CheckpointSummary): boolean {
  if (taken?.iteration !== wanted.iteration || taken.interventions < wanted.interventions) return false
  return WORTH[taken.evaluators] >= WORTH[wanted.evaluators]
}
