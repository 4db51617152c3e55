import type { Engine } from '../engine/contract.js'
import { HandleScope } from '../engine/handle-scope.js'
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
