import { createRequire } from 'node:module'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { ArbalestError, type ErrorCode } from '../errors.js'
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

/** The address relative to dist/src/engine/: the addon and its backend libraries are in the package's native/build. */
const ADDON = new URL('../../../native/build/Release/arbalest.node', import.meta.url)

/** The path of a file beside the addon. */
export function libraryFile(name: string): string {
  return fileURLToPath(new URL(name, ADDON))
}

let loaded: Addon | undefined

/** Loads the addon, once a thread. Throws ENGINE_MISSING. */
export function addon(): Addon {
  if (loaded) return loaded
  try {
    loaded = createRequire(import.meta.url)(fileURLToPath(ADDON)) as Addon
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause)
    const state = existsSync(ADDON) ? `cannot be loaded (${reason})` : 'is not built yet'
    throw missing(state, cause)
  }
  return loaded
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
  if (error instanceof Error && !(error instanceof ArbalestError) && 'code' in error && typeof error.code === 'string')
    return new ArbalestError(error.code as ErrorCode, error.message, { cause: error })
  return error
}
