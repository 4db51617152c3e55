import type { EngineBackend } from '../compiler/program.js'
import type { BackendCapabilities } from './contract.js'
import { engine } from './native.js'

/** For checks of options: what a backend can do, or undefined if it cannot be opened on this machine. The run itself throws the reason. */
export function knownCapabilities(backend: EngineBackend): BackendCapabilities | undefined {
  try {
    return engine.capabilities(backend)
  } catch {
    return undefined
  }
}
