import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { ArbalestError, isError, isObject, messageOf, shown, type ErrorCode } from './errors.js'
import { builtin, REQUIRES_MODULES } from './node.js'

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
const OWN_FOLDER = fileURLToPath(OWN)
const require = createRequire(import.meta.url)

let byRequire = false

/**
 * From now on this thread loads modules of this package by `require`, if that takes ES modules. `import()` opens all files of a module graph at once: with several threads that start,
 * more than a low limit of open files allows. Only threads of the runtime call this. In a thread of the user's, `require` may load a second copy of the
 * package (tsx), or fail (Jest).
 */
export function loadByRequire(): void {
  byRequire = REQUIRES_MODULES
}

/** The exports of the module at this address, in JavaScript or TypeScript. */
export async function importModule(module: string): Promise<Readonly<Record<string, unknown>>> {
  if (byRequire && module.startsWith(OWN)) return require(fileURLToPath(module)) as Record<string, unknown>
  if (!/\.[cm]?ts$/.test(new URL(module).pathname)) return asWritten((await import(module)) as Record<string, unknown>)
  // Older versions of Node.js cannot read TypeScript. jiti is loaded only here, because most threads import JavaScript alone.
  const { createJiti } = await import('jiti')
  return createJiti(module).import<Record<string, unknown>>(module)
}

/** What a compiler has made CommonJS of, as TypeScript does, has its own default below the one that Node.js gives it. */
function asWritten(exported: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { __esModule: isCompiled, default: all } = exported
  return isCompiled === true && isObject(all) ? all : exported
}

/** The exports of a user's module. Throws an error with its address and the cause if it cannot be loaded. */
export async function ownModule(mention: ModuleMention): Promise<Readonly<Record<string, unknown>>> {
  const { module } = mention
  try {
    return await importModule(module)
  } catch (cause) {
    const why = messageOf(cause)
    // Only the first line: the others list the modules that require it.
    const place = isError(cause) ? (placeInOwnFile(cause) ?? syntaxFault(module, cause)) : undefined
    throw moduleRefusal(mention, `it cannot be loaded: ${why.split('\n', 1)[0]}${place === undefined ? '' : ` (at ${place})`}`, cause)
  }
}

/** Where a module has an error of syntax. `import()` does not tell, a process that checks the file does; undefined if the error is in another file. */
function syntaxFault(module: string, { name }: Error): string | undefined {
  if (name !== 'SyntaxError' || !module.startsWith('file:')) return undefined
  const [, path, line] = UNPARSED.exec(checkedSyntax(fileURLToPath(module))) ?? []
  return path === undefined ? undefined : `${path}:${line}`
}

/** What Node says of a file's syntax; nothing where this process may start no other, as under --permission. */
function checkedSyntax(path: string): string {
  const env = { ...process.env, NODE_OPTIONS: '' }
  try {
    return builtin.childProcess().spawnSync(process.execPath, ['--check', path], { encoding: 'utf8', env, timeout: 10_000 }).stderr ?? ''
  } catch {
    return ''
  }
}

/** The error of a module that cannot be used. */
export function moduleRefusal({ parameter, module, code = 'INVALID_OPTION' }: ModuleMention, what: string, cause?: unknown): ArbalestError {
  return new ArbalestError(code, `${parameter}: received ${shown(module)}; ${what}`, { cause, data: { parameter, received: module } })
}

/** The exports of a module for a message: `rate, momentum`, and of a default of what kind it is. */
export function exportedNames(exported: Readonly<Record<string, unknown>>): string {
  const told = (name: string) => (name === 'default' ? `a default of type ${typeof exported[name]}` : name)
  return Object.keys(exported).map(told).join(', ') || 'nothing'
}

/** A frame of a stack in a file: the address or the path, the line, and whether it waited for the frame above it. */
const FRAME = /^\s+at (async )?(?:.* \()?((?:file:\/\/)?\/.*):(\d+):\d+\)?$/
/** What cannot be parsed has its place in a line of its own: of jiti in the message, of `node --check` before it. */
const UNPARSED = /^\s*((?:file:\/\/)?\/[^\n]*?):(\d+)(?::\d+)?$/m

/** Where in a user's own files an error was thrown, or called what threw it: `/home/me/learner.ts:12`. undefined if its stack has none of them. */
export function placeInOwnFile({ stack = '' }: Error): string | undefined {
  const lines = stack.split('\n')
  const frames = lines.flatMap((line) => {
    const [, waits, address, number] = FRAME.exec(line) ?? []
    // What waits for the thrower may be the program that started the run.
    return address === undefined || waits !== undefined ? [] : [{ address, number }]
  })
  const [, unparsed, at] = UNPARSED.exec(stack) ?? []
  const places = unparsed === undefined ? frames : [{ address: unparsed, number: at }, ...frames]
  for (const { address, number } of places) {
    const path = pathOf(address)
    if (path !== undefined && !path.startsWith(OWN_FOLDER) && !path.includes('/node_modules/')) return `${path}:${number}`
  }
  return undefined
}

/** undefined for what looks like an address and is none: messages have any text. */
function pathOf(address: string): string | undefined {
  if (!address.startsWith('file:')) return address
  try {
    return fileURLToPath(address)
  } catch {
    return undefined
  }
}
