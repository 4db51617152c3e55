import type { EngineBackend, LoweringBackend } from '../compiler/program.js'
import type { Engine } from './contract.js'

/** One backend of an engine as the compiler sees it, for programs that `threads` threads will run. Its library is opened by the first question. */
export function loweringBackend(engine: Engine, name: EngineBackend, threads = 1): LoweringBackend {
  return {
    name,
    get reordersTogether() {
      return engine.capabilities(name).reordersTogether
    },
    get layoutsOfAnyType() {
      return engine.capabilities(name).layoutsOfAnyType
    },
    lower: (request) => engine.lower(name, threads === 1 ? request : { ...request, threads }),
    bytes: (shape, type, layout) => engine.bytes(name, shape, type, layout)
  }
}
