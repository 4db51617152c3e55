import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { ArbalestError, messageOf, shown, type ErrorCode } from './errors.js'

/** The option that names a user's module. */
export interface ModuleMention {
  /** `operator`, `learner`, `synchroniser.module` */
  readonly parameter: string
  /** The URL of the module: of a file, or `data:`. */
  readonly module: string
  /** The code of its errors; INVALID_OPTION if omitted. */
  readonly code?: ErrorCode
}

/** The address below which the modules of this package are. */
const OWN = new URL('.', import.meta.url).href
const require = createRequire(import.meta.url)

/** The exports of the module at this address, in JavaScript or TypeScript. */
export async function importModule(module: string): Promise<Readonly<Record<string, unknown>>> {
  // `import()` opens all files of a module graph at once, in each thread that starts: more than a low limit of open files allows.
  if (module.startsWith(OWN)) return require(fileURLToPath(module)) as Record<string, unknown>
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
    // Only the first line: the others list the modules that require it.
    throw moduleRefusal(mention, `it cannot be loaded: ${why.split('\n', 1)[0]}`, cause)
  }
}

/** The error of a module that cannot be used. */
export function moduleRefusal({ parameter, module, code = 'INVALID_OPTION' }: ModuleMention, what: string, cause?: unknown): ArbalestError {
  return new ArbalestError(code, `${parameter}: received ${shown(module)}; ${what}`, { cause, data: { parameter, received: module } })
}

/** The exports of a module for a message: `rate, momentum`. */
export function exportedNames(exported: Readonly<Record<string, unknown>>): string {
  return Object.keys(exported).join(', ') || 'nothing'
}
