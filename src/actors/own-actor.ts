import { exportedNames, moduleRefusal, ownModule, type ModuleMention } from '../own-module.js'
import { shown } from '../errors.js'
import { DeferredReply, isDeferred, type ActorClass } from '../runtime/actor.js'

/** What a run needs as the answer of a method, in words, and whether an answer is that. */
export interface NeededAnswer {
  readonly what: string
  readonly holds: (answer: unknown) => boolean
}

/**
 * The class of an actor that takes the place of a built-in one: what the module exports as its default or by the built-in class's name; the built-in class if
 * no module is named. Throws INVALID_OPTION if a method is missing that a run calls, and any error of the module. A method of its own among `answers`, by
 * name, throws INVALID_OPTION where it answers anything else than the run needs.
 */
export async function actorClass<C extends ActorClass>(
  builtIn: C,
  parameter: string,
  module: URL | undefined,
  answers: Readonly<Record<string, NeededAnswer>> = {}
): Promise<C> {
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
  return checked(found as C, builtIn, mention, answers)
}

type Methods = Record<string, (...args: readonly unknown[]) => unknown>

/** The class with the answers of its own methods checked. Those that it inherits stay as they are. */
function checked<C extends ActorClass>(own: C, builtIn: C, mention: ModuleMention, answers: Readonly<Record<string, NeededAnswer>>): C {
  const Checked = class extends (own as new (...values: never[]) => object) {}
  for (const [name, { what, holds }] of Object.entries(answers)) {
    const method = (own.prototype as Methods)[name]!
    if (method === (builtIn.prototype as Methods)[name]) continue
    const check = (answer: unknown): unknown => {
      if (holds(answer)) return answer
      throw moduleRefusal(mention, `its method ${name} answers ${shown(answer)}; let it answer ${what}, as that of ${builtIn.name} does`)
    }
    ;(Checked.prototype as unknown as Methods)[name] = function (this: object, ...args) {
      const answer = method.apply(this, [...args])
      if (isDeferred(answer)) return new DeferredReply(answer.value.then(check))
      return answer instanceof Promise ? answer.then(check) : check(answer)
    }
  }
  return Checked as unknown as C
}
