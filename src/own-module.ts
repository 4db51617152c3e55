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

/** The exports of the module at this address, in JavaScript or TypeScript. */
export async function importModule(module: string): Promise<Readonly<Record<string, unknown>>> {
  if (!/\.[cm]?ts$/.test(new URL(module).pathname)) return (await import(module)) as Record<string, unknown>
  // Older versions of Node.js cannot read TypeScript. jiti is loaded only here, because most threads import JavaScript alone.
  const { createJiti } = await import('jiti')
  return createJiti(module).import<Record<string, unknown>>(module)
}

/** The exports of a user's module. Throws an error with its address and the cause if it cannot be loaded. */
export async function ownModule(mention: ModuleMention): Promise<Readonly<Record<string, unknown>>> {
  const { module } = mention
  try {
    return await importModule(module)
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
