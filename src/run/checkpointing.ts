import type { CheckpointOrder, CheckpointWriter, CheckpointWriterOptions } from '../actors/checkpoint-writer.js'
import type { JobScope } from '../actors/job-scope.js'
import { measuredHere, type RunState } from '../checkpoints/run-state.js'
import type { SetAside } from '../checkpoints/set-aside.js'
import type { Handle } from '../engine/contract.js'
import { ArbalestError } from '../errors.js'
import type { FloatTensors } from '../formats/tensor.js'
import type { CheckpointEvent, FinishedEvent } from '../observe/events.js'
import type { CheckpointSettings } from '../options/checkpoint.js'
import { asError } from '../runtime/errors-across-threads.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import type { RunActors } from './start-actors.js'
import type { PreparedRun } from './prepare.js'
import type { Schedule } from './schedule.js'

const WRITER = new URL('../actors/checkpoint-writer.js', import.meta.url)

export interface CheckpointingOptions {
  readonly scope: JobScope
  readonly actors: RunActors
  /** Reads the statistics of the model in the evaluators' replica. */
  readonly statistics: () => FloatTensors
  readonly writer: ActorRef<CheckpointWriter>
  /** Iterations between two checkpoints; Infinity: only after measurements. */
  readonly period: number
  readonly emit: (event: CheckpointEvent) => void
}

/**
 * What the evaluators' replicas hold when a checkpoint is taken. `measured`: the present central model with its statistics; `measuring`: they are about
 * to hold it; `idle`: an earlier central model.
 */
export type EvaluatorsState = 'measured' | 'measuring' | 'idle'

/** A checkpoint replaces one of the same iteration if it is worth more: it has the score, or at least the model file. */
const WORTH = { measuring: 0, idle: 1, measured: 2 } as const satisfies Record<EvaluatorsState, number>

interface CheckpointSummary {
  readonly iteration: number
  readonly evaluators: EvaluatorsState
}

/** The part of a checkpoint's state that the run loop knows. */
export type LoopState = Omit<RunState, 'learners' | 'position'>

export interface StartedCheckpointing {
  readonly checkpoints: Checkpointing
  /** Checkpoints of later iterations that had to be moved out of the way. */
  readonly setAside: readonly SetAside[]
}

/** Starts the writer. The run must hold the folder. Rejects with WRITE_FAILED if later checkpoints in it cannot be moved aside. */
export async function startCheckpointing(
  { dir: folder, keep, period }: CheckpointSettings,
  { model, dataset, programs: { train, predict }, resumption }: PreparedRun,
  actors: RunActors,
  scope: JobScope,
  emit: (event: CheckpointEvent) => void
): Promise<StartedCheckpointing> {
  const { engine, engineModule, system, handles } = scope
  const options: CheckpointWriterOptions = {
    engine: engineModule.href,
    folder,
    keep,
    parameters: train.parameters.parameters,
    model,
    normalisation: { mean: [...dataset.mean], std: [...dataset.std] },
    classNames: dataset.classNames
  }
  const writer = await system.spawn<typeof CheckpointWriter>(WRITER, 'CheckpointWriter', options, { name: 'checkpoint writer' })
  const begin = resumption?.state.iteration ?? -1
  const setAside = await writer.askWith({ deadline: Infinity }).begin(begin)
  const { replica } = actors.evaluators
  const values = predict.values.filter(({ role }) => role === 'statistic')
  const slot = values.length > 0 ? engine.bind(replica, handles.own(engine.createProgram(predict))) : 0
  const statistics = (): FloatTensors =>
    Object.fromEntries(values.map(({ name, shape }) => [name, { shape, data: Float32Array.from(engine.readValue(replica, slot, name)) }]))
  const checkpoints = new Checkpointing({ scope, actors, statistics, writer, period, emit }, resumption && summaryOf(resumption.state))
  return { checkpoints, setAside }
}

function summaryOf(state: RunState): CheckpointSummary {
  return { iteration: state.iteration, evaluators: measuredHere(state) ? 'measured' : 'idle' }
}

/**
 * Takes checkpoints while the learners rest at a round. Only the copies are made then: they are written while training goes on. A checkpoint is skipped
 * if the one before is still being written.
 */
export class Checkpointing {
  readonly #options: CheckpointingOptions
  /** The newest one on the disk. */
  #newest: CheckpointSummary | undefined
  #underWay: (CheckpointSummary & { readonly done: Promise<void> }) | undefined
  #incomplete = false

  /** `begin`: the checkpoint from which the run goes on. */
  constructor(options: CheckpointingOptions, begin?: CheckpointSummary) {
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
   * copy or to write becomes an event; the run goes on.
   */
  async take(state: LoopState, { evaluators, score }: { readonly evaluators: EvaluatorsState; readonly score?: number }): Promise<void> {
    const summary: CheckpointSummary = { iteration: state.iteration, evaluators }
    // Waits for the disk rather than to skip a measured model: it may be the best, or the last.
    if (evaluators === 'measured') await this.#underWay?.done
    if (covers(this.#newest, summary) || covers(this.#underWay, summary)) return
    if (this.#underWay) {
      this.#emit({ iteration: state.iteration, folder: null, seconds: 0, reason: 'the one before is still being written', code: null })
      return
    }
    const copied = this.#copy(state, summary, score)
    const done = copied.then((order) => order && this.#write(order, summary)).finally(() => (this.#underWay = undefined))
    this.#underWay = { ...summary, done }
    await copied
  }

  /** Whether all checkpoints that were due have been written; call it after `settled`. */
  get completeness(): NonNullable<FinishedEvent['checkpoints']> {
    return this.#incomplete ? 'incomplete' : 'complete'
  }

  /** Resolves when the checkpoint under way is on the disk, or has failed. */
  async settled(): Promise<void> {
    await this.#underWay?.done
  }

  /** undefined if memory does not hold the copies. */
  async #copy(
    state: LoopState,
    { iteration, evaluators }: CheckpointSummary,
    score: number | undefined
  ): Promise<CheckpointOrder | undefined> {
    const { scope, actors, statistics } = this.#options
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

  /** By rank; null for a learner that has died, or that has not begun and so has no state of its own. */
  async #captureLearners(counts: Readonly<Record<string, number>>, keep: (copy: Handle) => Handle): Promise<(Handle | null)[]> {
    const { scope, actors } = this.#options
    const replicas = await actors.supervisor.askWith({ deadline: Infinity }).replicas()
    return replicas.map((found) => {
      if (!found || counts[`fresh.${found.learner}`] !== 0) return null
      try {
        return keep(scope.engine.captureReplica(found.replica))
      } finally {
        // The capture made this thread an owner of the replica; the learner shall be the only one.
        scope.engine.release(found.replica)
      }
    })
  }

  async #write(order: CheckpointOrder, summary: CheckpointSummary): Promise<void> {
    const { scope, writer } = this.#options
    const { iteration, group, learners, evaluated } = order
    const start = performance.now()
    try {
      const folder = await writer.askWith({ deadline: Infinity }).write(order)
      this.#newest = summary
      this.#emit({ iteration, folder, seconds: (performance.now() - start) / 1000, reason: null, code: null })
    } catch (error) {
      this.#fail(iteration, (performance.now() - start) / 1000, error)
    } finally {
      for (const handle of [group, evaluated, ...learners]) if (handle !== null) scope.engine.release(handle)
    }
  }

  /** Emits a failure. The first one is a warning as well, and the `finished` event says that a checkpoint is missing. */
  #fail(iteration: number, seconds: number, thrown: unknown): void {
    const error = asError(thrown)
    const { message: reason } = error
    if (!this.#incomplete) process.emitWarning(`no checkpoint of iteration ${iteration}: ${reason}; the run goes on`, 'ArbalestWarning')
    this.#incomplete = true
    this.#emit({ iteration, folder: null, seconds, reason, code: error instanceof ArbalestError ? error.code : 'INTERNAL' })
  }

  #emit(event: Omit<CheckpointEvent, 'event'>): void {
    this.#options.emit({ event: 'checkpoint', ...event })
  }
}

function covers(taken: CheckpointSummary | undefined, wanted: CheckpointSummary): boolean {
  return taken !== undefined && taken.iteration === wanted.iteration && WORTH[taken.evaluators] >= WORTH[wanted.evaluators]
}
