import { createJiti } from 'jiti'
import { ArbalestError, messageOf, shown, type ErrorCode } from './errors.js'

/** Where a module of the user's was named. */
export interface ModuleMention {
  /** `operator`, `learner`, `synchroniser.module` */
  readonly parameter: string
  /** Its address: a file's, or a `data:` URL. */
  readonly module: string
  /** Of the errors that it causes; INVALID_OPTION if left out. */
  readonly code?: ErrorCode
}

/** What a module of the user's exports, in JavaScript or TypeScript. Throws where it cannot be loaded, with its address and why. */
export async function ownModule(mention: ModuleMention): Promise<Readonly<Record<string, unknown>>> {
  const { module } = mention
  try {
    // TypeScript goes through jiti, for Node itself may not read it.
    if (/\.[cm]?ts$/.test(new URL(module).pathname)) return await createJiti(module).import<Record<string, unknown>>(module)
    return (await import(module)) as Record<string, unknown>
  } catch (cause) {
    const why = messageOf(cause)
    // Below it stands how the module came to be wanted.
    throw moduleRefusal(mention, `it cannot be loaded: ${why.split('\n', 1)[0]}`, cause)
  }
}

/** A module that is not what was asked for. */
export function moduleRefusal({ parameter, module, code = 'INVALID_OPTION' }: ModuleMention, what: string, cause?: unknown): ArbalestError {
  return new ArbalestError(code, `${parameter}: received ${shown(module)}; ${what}`, { cause, data: { parameter, received: module } })
}

/** `rate, momentum`, for messages. */
export function exportedNames(exported: Readonly<Record<string, unknown>>): string {
  return Object.keys(exported).join(', ') || 'nothing'
}
