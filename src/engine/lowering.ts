import type { BackendName, LoweringBackend } from '../compiler/program.js'
import type { Engine } from './contract.js'

/** One backend of an engine, as the compiler sees it. */
export function loweringBackend(engine: Engine, name: BackendName): LoweringBackend {
  return {
    name,
    lower: (request) => engine.lower(name, request),
    bytes: (shape, type, layout) => engine.bytes(name, shape, type, layout)
  }
}
