import type { CheckpointOrder, CheckpointWriter } from '../actors/checkpoint-writer.js'
import type { Evaluator } from '../actors/evaluator.js'
import type { Supervisor } from '../actors/supervisor.js'
import type { Engine, Handle } from '../engine/contract.js'
import type { FloatTensors } from '../formats/tensor.js'
import { ArbalestError } from '../errors.js'
import { asError } from '../runtime/errors-across-threads.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import type { CheckpointEvent, FinishedEvent } from '../observe/events.js'
import type { RunState } from '../checkpoints/run-state.js'
import type { Schedule } from './schedule.js'

export interface CheckpointingOptions {
  readonly engine: Engine
  readonly group: Handle
  readonly supervisor: ActorRef<Supervisor>
  readonly evaluator: ActorRef<Evaluator>
  /** The evaluator's replica: the weights that are evaluated, and their statistics. */
  readonly evaluation: Handle
  readonly statistics: () => FloatTensors
  readonly writer: ActorRef<CheckpointWriter>
  /** Iterations. */
  readonly period: number
  readonly tell: (event: CheckpointEvent) => void
}

/** `measured`: they hold this very central model with its statistics; `measuring`: they are about to; `idle`: they hold another one. */
export type EvaluatorsState = 'measured' | 'measuring' | 'idle'

/** A checkpoint makes way for one of the same iteration that says more of its central model. */
const WORTH = { measuring: 0, idle: 1, measured: 2 } as const satisfies Record<EvaluatorsState, number>

/** A checkpoint in short. */
export interface Taken {
  readonly iteration: number
  readonly evaluators: EvaluatorsState
}

/** What the course of a run knows of itself at a checkpoint. */
export type CourseState = Omit<RunState, 'learners' | 'position'>

/**
 * Takes checkpoints of a run while its learners rest at a round. Only copies are made then; they are written while training goes on. Where the
 * disk has not finished the one before, a checkpoint is left out.
 */
export class Checkpointing {
  readonly #options: CheckpointingOptions
  /** What is on the disk. */
  #newest: Taken | undefined
  #underWay: (Taken & { readonly done: Promise<void> }) | undefined
  /** Whether one that was due could not be written. */
  #incomplete = false

  /** `begin`: the checkpoint that the run goes on from. */
  constructor(options: CheckpointingOptions, begin?: Taken) {
    this.#options = options
    this.#newest = begin
  }

  /** The next round before which the learners are to rest for a checkpoint. */
  restBefore(round: number, { iterationOf, roundBy }: Schedule): number {
    const { period: every } = this.#options
    return every === Infinity ? Infinity : roundBy((Math.floor(iterationOf(round) / every) + 1) * every)
  }

  /** Whether one is due before this round, at which nothing was measured. */
  isDue(round: number, { iterationOf, roundBy }: Schedule): boolean {
    const { period: every } = this.#options
    return every !== Infinity && roundBy(Math.floor(iterationOf(round) / every) * every) === round
  }

  /**
   * Copies everything; resolves when training may go on. `evaluators` says what they do just now; while they measure, the model file is left out.
   * What cannot be copied or written is told, and troubles the run no further.
   */
  async take(state: CourseState, { evaluators, score }: { readonly evaluators: EvaluatorsState; readonly score?: number }): Promise<void> {
    const taken: Taken = { iteration: state.iteration, evaluators }
    // A measured one is worth waiting for: it may be the best, or the last.
    if (evaluators === 'measured') await this.#underWay?.done
    if (covers(this.#newest, taken) || covers(this.#underWay, taken)) return
    if (this.#underWay) {
      this.#tell({ iteration: state.iteration, folder: null, seconds: 0, reason: 'the one before is still being written', code: null })
      return
    }
    const copied = this.#copy(state, taken, score)
    const done = copied.then((order) => order && this.#write(order, taken)).finally(() => (this.#underWay = undefined))
    this.#underWay = { ...taken, done }
    await copied
  }

  /** Of those that have been taken so far and are settled. */
  get completeness(): NonNullable<FinishedEvent['checkpoints']> {
    return this.#incomplete ? 'incomplete' : 'complete'
  }

  /** Until the one that is being written is on the disk, or has failed. */
  async settled(): Promise<void> {
    await this.#underWay?.done
  }

  /** undefined where there is no room for the copies. */
  async #copy(state: CourseState, { iteration, evaluators }: Taken, score: number | undefined): Promise<CheckpointOrder | undefined> {
    const { engine, group, evaluator, evaluation, statistics } = this.#options
    const copies: Handle[] = []
    const keep = (copy: Handle) => {
      copies.push(copy)
      return copy
    }
    try {
      if (evaluators === 'idle') await evaluator.askWith({ deadline: Infinity }).take()
      const evaluated = evaluators === 'measuring' ? null : keep(engine.captureReplica(evaluation))
      const snapshot = keep(engine.captureGroup(group))
      const { counts } = engine.snapshotParts(snapshot)
      const learners = await this.#captureLearners(counts, keep)
      return {
        iteration,
        ...(score !== undefined && { score }),
        group: snapshot,
        learners,
        evaluated,
        statistics: evaluated === null ? {} : statistics(),
        state: {
          ...state,
          position: counts['position'],
          learners: learners.flatMap((learner, rank) => (learner === null ? [] : [rank]))
        }
      }
    } catch (error) {
      for (const copy of copies) engine.release(copy)
      this.#fail(iteration, 0, error)
      return undefined
    }
  }

  /** In the order of their ranks; a learner that has yet to begin, or has died, has nothing of its own. */
  async #captureLearners(counts: Readonly<Record<string, number>>, keep: (copy: Handle) => Handle): Promise<(Handle | null)[]> {
    const { engine, supervisor } = this.#options
    const replicas = await supervisor.askWith({ deadline: Infinity }).replicas()
    return replicas.map((found) => {
      if (!found || counts[`fresh.${found.learner}`] !== 0) return null
      try {
        return keep(engine.captureReplica(found.replica))
      } finally {
        // By the capture this thread holds it, too; it is the learner's, and goes with it.
        engine.release(found.replica)
      }
    })
  }

  async #write(order: CheckpointOrder, taken: Taken): Promise<void> {
    const { engine, writer } = this.#options
    const { iteration, group, learners, evaluated } = order
    const start = performance.now()
    try {
      const folder = await writer.askWith({ deadline: Infinity }).write(order)
      this.#newest = taken
      this.#tell({ iteration, folder, seconds: (performance.now() - start) / 1000, reason: null, code: null })
    } catch (error) {
      this.#fail(iteration, (performance.now() - start) / 1000, error)
    } finally {
      for (const handle of [group, evaluated, ...learners]) if (handle !== null) engine.release(handle)
    }
  }

  /** The run goes on: its end says that a checkpoint is missing, and the first is a warning at once. */
  #fail(iteration: number, seconds: number, thrown: unknown): void {
    const error = asError(thrown)
    const { message: reason } = error
    if (!this.#incomplete) process.emitWarning(`no checkpoint of iteration ${iteration}: ${reason}; the run goes on`, 'ArbalestWarning')
    this.#incomplete = true
    this.#tell({ iteration, folder: null, seconds, reason, code: error instanceof ArbalestError ? error.code : 'INTERNAL' })
  }

  #tell(event: Omit<CheckpointEvent, 'event'>): void {
    this.#options.tell({ event: 'checkpoint', ...event })
  }
}

function covers(there: Taken | undefined, wanted: Taken): boolean {
  return there !== undefined && there.iteration === wanted.iteration && WORTH[there.evaluators] >= WORTH[wanted.evaluators]
}
