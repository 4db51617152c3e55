import { compileInPieces, type CompileOptions } from '../../compiler/compile.js'
import type { EngineBackend, LoweringBackend, Program } from '../../compiler/program.js'
import type { MemoryLimit } from '../../compiler/tiers/fit.js'
import { loadEngine } from '../../engine/contract.js'
import { loweringBackend } from '../../engine/lowering.js'
import { loadOperators } from '../../model/composed.js'
import type { Model } from '../../model/model.js'
import type { ActorContext } from '../../runtime/context.js'
import { inTurns } from '../../turns.js'

/** The options of a planner. */
export interface StepPlannerOptions {
  /** Address of the module that exports `engine`. */
  readonly engine: string
  readonly backend: EngineBackend
  readonly threads: number
  readonly model: Model
}

/** A limit as plain data. */
export type SearchLimit = Omit<MemoryLimit, 'rule'>

/** How a step is compiled within a limit. */
export type PlannedOptions = Omit<CompileOptions, 'limit'> & { readonly limit: SearchLimit }

/** Compiles a model's training step within limits of memory, in the thread of its own that a run gives it. */
export class StepPlanner {
  readonly #options: StepPlannerOptions
  readonly #context: ActorContext<StepPlanner>
  #lowering!: LoweringBackend

  constructor(options: StepPlannerOptions, context: ActorContext<StepPlanner>) {
    this.#options = options
    this.#context = context
  }

  /** Called by the runtime. */
  async started(): Promise<void> {
    const { engine, backend, threads, model } = this.#options
    this.#lowering = loweringBackend(await loadEngine(engine), backend, threads)
    await loadOperators(model)
  }

  /** Throws what `compile` throws. */
  compile(options: PlannedOptions): Promise<Program> {
    const check = () => {
      if (this.#context.stopRequested) throw new Error('the run was stopped')
    }
    return inTurns(compileInPieces(this.#options.model, this.#lowering, options), { check })
  }
}
