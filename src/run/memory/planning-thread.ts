import type { Program } from '../../compiler/program.js'
import type { Engine } from '../../engine/contract.js'
import type { ActorRef } from '../../runtime/actor-ref.js'
import { ActorSystem } from '../../runtime/system.js'
import { StoppedEarly } from '../stopped-early.js'
import type { PlannedOptions, StepPlanner, StepPlannerOptions } from './step-planner.js'

/**
 * A thread that compiles steps within limits, begun by the first of them. The search takes tens of megabytes of JavaScript's heap, which a thread's end gives back to the system; the heap
 * of the caller's thread would keep them beside what the run then takes.
 */
export class PlanningThread implements AsyncDisposable {
  readonly #options: StepPlannerOptions
  readonly #engine: Engine
  readonly #stop: AbortSignal | undefined
  readonly #system = new ActorSystem()
  #planner: Promise<ActorRef<StepPlanner>> | undefined

  constructor(options: StepPlannerOptions, engine: Engine, stop?: AbortSignal) {
    this.#options = options
    this.#engine = engine
    this.#stop = stop
  }

  /** Throws what `compile` throws, and a StoppedEarly. */
  async compile(options: PlannedOptions): Promise<Program> {
    const planner = await (this.#planner ??= this.#spawn())
    try {
      return await planner.askWith({ deadline: Infinity, signal: this.#stop }).compile(options)
    } catch (error) {
      throw this.#stop?.aborted ? new StoppedEarly() : error
    }
  }

  #spawn(): Promise<ActorRef<StepPlanner>> {
    // Before the search: the threads of V8 that compile and collect for it would keep what they free.
    this.#engine.trim()
    return this.#system.spawn<typeof StepPlanner>(new URL('./step-planner.js', import.meta.url), 'StepPlanner', this.#options)
  }

  /** Ends the thread. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#system.stop()
    if (this.#planner) this.#engine.trim()
  }
}
