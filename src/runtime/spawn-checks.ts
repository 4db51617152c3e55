import { invalidOption } from '../errors.js'
import { checkMilliseconds } from './clock.js'
import type { LocalSpawnOptions, SpawnOptions } from './context.js'

// What the types refuse, too: programs in JavaScript have none.

/** Throws INVALID_OPTION for a module that is no URL: a path alone does not say which folder it begins at. */
export function checkModule(module: URL | undefined): void {
  // The class may be another's: test runners have one of their own.
  if (typeof module?.href !== 'string') throw invalidOption('module', module, "use a URL, such as new URL('./actor.js', import.meta.url)")
}

/** Throws INVALID_OPTION for options that are no object. */
export function checkOptions(options: unknown): void {
  if (!isObject(options)) throw invalidOption('options', options, 'use an object, or leave it out')
}

/** Throws INVALID_OPTION. */
export function checkActorClass(actorClass: unknown): void {
  if (typeof actorClass !== 'function') throw invalidOption('actorClass', actorClass, 'use a class')
}

/** Throws INVALID_OPTION. */
export function checkSpawn(options: LocalSpawnOptions & SpawnOptions): void {
  checkOptions(options)
  const { name, restart, shutdown, deadline, mailbox, heartbeat } = options
  if (name !== undefined && typeof name !== 'string') throw invalidOption('name', name, 'use a text')
  if (restart !== undefined && !['permanent', 'transient', 'temporary'].includes(restart)) {
    throw invalidOption('restart', restart, 'use permanent, transient or temporary')
  }
  if (shutdown !== undefined) checkMilliseconds('shutdown', shutdown)
  if (deadline !== undefined) checkMilliseconds('deadline', deadline)
  // Of a number nothing would be read, and the default would hold without a word.
  if (mailbox !== undefined && !isObject(mailbox)) throw invalidOption('mailbox', mailbox, 'use an object, such as { capacity: 500 }')
  if (heartbeat === undefined) return
  if (!isObject(heartbeat)) throw invalidOption('heartbeat', heartbeat, 'use an object, such as { timeout: 500 }')
  checkMilliseconds('heartbeat.timeout', heartbeat.timeout)
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
