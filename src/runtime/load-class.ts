import { unknownName } from '../errors.js'
import type { ActorClass } from './actor.js'

/** The class of actors that a module exports by this name. Rejects with UNKNOWN_NAME, and with what the module throws. */
export async function loadClass(module: string, className: string): Promise<ActorClass> {
  const exported = (await import(module)) as Record<string, unknown>
  const found = exported[className]
  if (typeof found !== 'function') throw unknownName(`class in ${module}`, className, Object.keys(exported))
  return found as ActorClass
}
