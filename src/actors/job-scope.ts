import type { Engine } from '../engine/contract.js'
import { HandleScope } from '../engine/handle-scope.js'
import { ArbalestError, messageOf, warn } from '../errors.js'
import { ActorSystem } from '../runtime/system.js'

/** What one job holds until it ends: its actors, and its handles in the engine. */
export class JobScope {
  readonly engine: Engine
  /** Exports `engine`: actors in other threads load it from there. */
  readonly engineModule: URL
  readonly system = new ActorSystem()
  readonly handles: HandleScope

  constructor(engine: Engine, engineModule: URL) {
    this.engine = engine
    this.engineModule = engineModule
    this.handles = new HandleScope(engine)
  }

  /** Ends all actors, and then releases the handles, which the actors' threads may use until then. */
  async close(): Promise<void> {
    try {
      await this.system.stop()
    } finally {
      this.handles.release()
    }
  }
}

/**
 * Runs all steps that end a run, in their order, also after one of them has thrown. Never rejects: the caller gets the error that ended the run, and the
 * errors of the steps become warnings. An actor that has gone already needs no end.
 */
export async function runAllCleanUps(...steps: readonly (() => unknown)[]): Promise<void> {
  for (const step of steps) {
    try {
      await step()
    } catch (error) {
      if (error instanceof ArbalestError && error.code === 'ACTOR_GONE') continue
      warn(`a run was not cleaned up: ${messageOf(error)}`)
    }
  }
}
