import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ArbalestError, isError, type ErrorCode } from '../errors.js'
import type { EngineBackend } from '../compiler/program.js'
import type { Engine } from './contract.js'
import type { ReadGroupStatus } from './group-status.js'

/** The result of locking a file: it is `held` if another open file description has the lock, in this process or in another. */
export type FileLocking = 'taken' | 'held' | 'unsupported'

/** The calls of native/src/binding: those of the engine, except that `describe` is about one library, and that a status comes as numbers. */
export type Addon = Omit<Engine, 'describe' | 'groupStatus'> & {
  readonly groupStatus: ReadGroupStatus
  /** Of the library of one backend; opens it. */
  describe(backend: EngineBackend): { available: boolean; detail: string }
  /** Of the library that joins the hosts of a run; opens it, and starts nothing. */
  describeMpi(): { available: boolean; detail: string }
  lockFile(descriptor: number): FileLocking
}

const require = createRequire(import.meta.url)
const ADDON = 'arbalest.node'

/** The path relative to dist/src/engine/ of the engine that was built here. */
const BUILT_HERE = fileURLToPath(new URL('../../../native/build/Release/', import.meta.url))
/** The package that brings it already built. */
const PREBUILT = `@arbalest/${process.platform}-${process.arch}`

/** The folder of the addon and its backend libraries. An engine that was built here comes first: somebody wanted it. */
const FOLDER = existsSync(join(BUILT_HERE, ADDON)) ? BUILT_HERE : (prebuilt() ?? BUILT_HERE)

function prebuilt(): string | undefined {
  try {
    return dirname(require.resolve(`${PREBUILT}/package.json`))
  } catch {
    return undefined
  }
}

/** Where the engine comes from, for people. */
export function engineOrigin(): string {
  return FOLDER === BUILT_HERE ? `built on this machine, in ${BUILT_HERE}` : `prebuilt, of the package ${PREBUILT}`
}

/** The path of a file beside the addon. */
export function libraryFile(name: string): string {
  return join(FOLDER, name)
}

let loaded: Addon | undefined

/** Loads the addon, once a thread. Throws ENGINE_MISSING. */
export function addon(): Addon {
  if (loaded) return loaded
  try {
    loaded = require(libraryFile(ADDON)) as Addon
  } catch (cause) {
    if (isError(cause) && 'code' in cause && cause.code === 'ERR_DLOPEN_DISABLED') throw disabled(cause)
    const reason = isError(cause) ? cause.message.split('\n')[0] : String(cause)
    const state = existsSync(libraryFile(ADDON)) ? `cannot be loaded (${reason})` : 'is not built yet'
    throw missing(state, cause)
  }
  return loaded
}

function disabled(cause: Error): ArbalestError {
  const fix = 'start it without --no-addons, and under --permission with --allow-addons'
  return new ArbalestError('ENGINE_MISSING', `engine: Node.js was told to load no native library; ${fix}`, { cause })
}

/** A call of the addon by its name. Throws ENGINE_MISSING if the addon has no such call. */
export function entryOf<Name extends keyof Addon>(from: Addon, name: Name): Addon[Name] {
  if (typeof from[name] === 'function') return from[name]
  throw missing(`is of another version than this package (it has no ${name})`)
}

function missing(state: string, cause?: unknown): ArbalestError {
  const message = `engine: the native library ${state}; run \`npx arbalest setup\`, which builds it for this processor`
  return new ArbalestError('ENGINE_MISSING', message, { cause })
}

/** Turns an addon's error, whose code is a property, into an ArbalestError. */
export function translated(error: unknown): unknown {
  if (isError(error) && !(error instanceof ArbalestError) && 'code' in error && typeof error.code === 'string')
    return new ArbalestError(error.code as ErrorCode, error.message, { cause: error })
  return error
}
