import type { EngineBackend, LoweringBackend } from '../compiler/program.js'
import type { Engine } from './contract.js'
import { isGpu } from './gpu.js'

/** One backend of an engine, as the compiler sees it, for programs that so many threads will run. */
export function loweringBackend(engine: Engine, name: EngineBackend, threads = 1): LoweringBackend {
  return {
    name,
    reordersTogether: isGpu(name),
    layoutsOfAnyType: isGpu(name),
    lower: (request) => engine.lower(name, threads === 1 ? request : { ...request, threads }),
    bytes: (shape, type, layout) => engine.bytes(name, shape, type, layout)
  }
}
