import { exportedNames, moduleRefusal, ownModule, type ModuleMention } from '../own-module.js'
import { shown, thrownByCallback } from '../errors.js'
import { DeferredReply, isDeferred, type ActorClass } from '../runtime/actor.js'

/** What a run needs as the answer of a method, in words, and whether an answer is that. */
export interface NeededAnswer {
  readonly what: string
  readonly holds: (answer: unknown) => boolean
}

/**
 * The class of an actor that takes the place of a built-in one: what the module exports as its default or by the built-in class's name; the built-in class if
 * no module is named. Throws INVALID_OPTION if a method is missing that a run calls, and any error of the module. A method of its own among `answers`, by
 * name, throws INVALID_OPTION where it answers anything else than the run needs. What its own methods throw is an Error, whose code is CALLBACK_FAILED.
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

type Method = (...args: readonly unknown[]) => unknown
type Methods = Record<string, Method>

/**
 * The class with the answers of its own methods checked, and with what they and its constructor throw noted as thrown by the user's code. Methods that it inherits from the
 * built-in class stay as they are.
 */
function checked<C extends ActorClass>(own: C, builtIn: C, mention: ModuleMention, answers: Readonly<Record<string, NeededAnswer>>): C {
  const Checked = class extends (own as new (...values: never[]) => object) {
    constructor(...values: never[]) {
      try {
        super(...values)
      } catch (error) {
        throw thrownByCallback(error)
      }
    }
  }
  for (const [name, method] of ownMethods(own, builtIn)) {
    const needed = answers[name]
    const check = (answer: unknown): unknown => {
      if (!needed || needed.holds(answer)) return answer
      const fix = `let it answer ${needed.what}, as that of ${builtIn.name} does`
      throw moduleRefusal(mention, `its method ${name} answers ${shown(answer)}; ${fix}`)
    }
    ;(Checked.prototype as unknown as Methods)[name] = function (this: object, ...args) {
      return settled(() => method.apply(this, [...args]), check)
    }
  }
  return Checked as unknown as C
}

/** The methods that the class does not have from the built-in one, by name. */
function ownMethods(own: ActorClass, builtIn: ActorClass): ReadonlyMap<string, Method> {
  const found = new Map<string, Method>()
  const ends: readonly unknown[] = [builtIn.prototype, Object.prototype, null]
  for (let level = own.prototype as object | null; !ends.includes(level); level = Object.getPrototypeOf(level) as object | null)
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(level)))
      if (name !== 'constructor' && typeof value === 'function' && !found.has(name)) found.set(name, value as Method)
  return found
}

/** The answer of a call of the user's code, checked, however it comes. */
function settled(call: () => unknown, check: (answer: unknown) => unknown): unknown {
  const failed = (error: unknown): never => {
    throw thrownByCallback(error)
  }
  try {
    const answer = call()
    if (isDeferred(answer)) return new DeferredReply(answer.value.then(check, failed))
    return answer instanceof Promise ? answer.then(check, failed) : check(answer)
  } catch (error) {
    return failed(error)
  }
}
