import type { Engine } from '../engine/contract.js'

/** The engine of this thread. An actor is given the module's address, because an engine cannot be posted to a worker. */
export async function loadEngine(module: string): Promise<Engine> {
  return ((await import(module)) as { engine: Engine }).engine
}
