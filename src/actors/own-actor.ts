import { exportedNames, moduleRefusal, ownModule, type ModuleMention } from '../own-module.js'
import type { ActorClass } from '../runtime/actor.js'

/**
 * The class of an actor that takes the place of a built-in one: what the module exports as its default or by the built-in class's name; the built-in class if
 * no module is named. Throws INVALID_OPTION if a method is missing that a run calls, and any error of the module.
 */
export async function actorClass<C extends ActorClass>(builtIn: C, parameter: string, module: URL | undefined): Promise<C> {
  if (!module) return builtIn
  const mention: ModuleMention = { parameter, module: module.href }
  const exported = await ownModule(mention)
  const found = exported['default'] ?? exported[builtIn.name]
  const fix = `extend ${builtIn.name} of arbalest/actors`
  if (typeof found !== 'function')
    throw moduleRefusal(mention, `it exports ${exportedNames(exported)}; export a class as the default: ${fix}`)
  const own = (found as { readonly prototype?: object }).prototype
  const missing = Object.getOwnPropertyNames(builtIn.prototype).filter((name) => own === undefined || !(name in own))
  if (missing.length > 0) throw moduleRefusal(mention, `its class has no ${missing.join(', ')}; ${fix}`)
  return found as C
}
