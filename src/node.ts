import { fsync } from 'node:fs'
import { open, type FileHandle } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import timers from 'node:timers'
import { promisify } from 'node:util'

/** Node's own, taken before a test puts fake timers in its place, which would never come round. */
const { setImmediate } = timers

/** Calls `turn` in the next turn of the event loop. */
export const inNextTurn: (turn: () => void) => void = setImmediate

/** Resolves in the next turn of the event loop. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((done) => inNextTurn(done))
}

/** Modules of Node that are loaded where they are used, and not by `import 'arbalest'`: loading them takes longer than most of our own files. */
export const builtin = {
  childProcess: () => process.getBuiltinModule('node:child_process'),
  crypto: () => process.getBuiltinModule('node:crypto'),
  v8: () => process.getBuiltinModule('node:v8')
}

/** Whether `require` takes ES modules. Under Yarn's Plug'n'Play it does not find the packages that they import before Node.js 22.15: `import()` alone asks Yarn's loader there. */
export const REQUIRES_MODULES: boolean = process.features.require_module && process.versions['pnp'] === undefined

/** Whether --permission keeps this program from the network. Versions without the flag --allow-net restrict no network, though they deny the scope. */
export function isNetworkDenied(): boolean {
  const { permission, allowedNodeEnvironmentFlags } = process as { readonly permission?: { has(scope: string): boolean } } & NodeJS.Process
  return permission !== undefined && !permission.has('net') && allowedNodeEnvironmentFlags.has('--allow-net')
}

/** The absolute path, or the path itself where the name of the working folder is not UTF-8: Node tells it with other characters, which name another folder. */
export function absolutePath(path: string): string {
  return isAbsolute(path) || !process.cwd().includes('\uFFFD') ? resolve(path) : join(dirname(path), basename(path))
}

/** Opens a file as `open` of Node does. Yarn's Plug'n'Play puts its own `open` in that place, whose handles cannot be disposed of, and whose `sync` throws. */
export async function openFile(...args: Parameters<typeof open>): Promise<FileHandle> {
  const handle = await open(...args)
  if (handle[Symbol.asyncDispose] !== undefined) return handle
  return Object.assign(handle, { sync: () => promisify(fsync)(handle.fd), [Symbol.asyncDispose]: () => handle.close() })
}
