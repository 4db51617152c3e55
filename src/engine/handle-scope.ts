import type { Engine, Handle } from './contract.js'

/** What a run has made in its engine, given back when the run ends. */
export class HandleScope {
  readonly #engine: Engine
  readonly #handles = new Set<Handle>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  own(handle: Handle): Handle {
    this.#handles.add(handle)
    return handle
  }

  /** Somebody else's from here on. */
  pass(handle: Handle): Handle {
    this.#handles.delete(handle)
    return handle
  }

  /** The youngest first. */
  release(): void {
    for (const handle of [...this.#handles].toReversed()) this.#engine.release(handle)
    this.#handles.clear()
  }
}
