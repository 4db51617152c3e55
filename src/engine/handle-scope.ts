import type { Engine, Handle } from './contract.js'

/** The objects that a run has made in its engine. They are released when the run ends. */
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

  /** The caller owns the object from now on. */
  pass(handle: Handle): Handle {
    this.#handles.delete(handle)
    return handle
  }

  /** Releases the newest object first. */
  release(): void {
    for (const handle of [...this.#handles].toReversed()) this.#engine.release(handle)
    this.#handles.clear()
  }
}
