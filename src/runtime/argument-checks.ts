import { checkOptions, invalidOption } from '../errors.js'
import type { ActorRef } from './actor-ref.js'
import { checkMilliseconds } from './clock.js'
import type { LocalSpawnOptions, SpawnOptions } from './context.js'
import type { MailboxOptions } from './flow-control.js'

// What the types refuse, too: programs in JavaScript have none.

/** Throws INVALID_OPTION for a module that is no URL: a path alone does not say which folder it begins at. */
export function checkModule(module: URL | undefined): void {
  // The class may be another's: test runners have one of their own.
  if (typeof module?.href !== 'string') throw invalidOption('module', module, "use a URL, such as new URL('./actor.js', import.meta.url)")
}

/** Throws INVALID_OPTION, also for a function that makes no objects. */
export function checkActorClass(actorClass: unknown): void {
  if (typeof actorClass !== 'function' || actorClass.prototype === undefined) throw invalidOption('actorClass', actorClass, 'use a class')
}

/** Throws INVALID_OPTION. */
export function checkClassName(className: unknown): void {
  if (typeof className !== 'string') throw invalidOption('className', className, 'use the name of a class that the module exports')
}

const LOCAL_OPTIONS = ['name', 'restart', 'shutdown', 'mailbox'] as const satisfies readonly (keyof LocalSpawnOptions)[]
const WORKER_OPTIONS = ['deadline', 'worker', 'heartbeat', 'cancel'] as const satisfies readonly (keyof SpawnOptions)[]

/** Throws INVALID_OPTION. */
export function checkSpawnLocal(options: LocalSpawnOptions): void {
  checkOptions(options, LOCAL_OPTIONS)
  checkSpawn(options)
}

/** Throws INVALID_OPTION. */
export function checkSpawn(options: SpawnOptions): void {
  checkOptions(options, [...LOCAL_OPTIONS, ...WORKER_OPTIONS])
  const { name, restart, shutdown, deadline, mailbox, worker, cancel, heartbeat } = options
  if (name !== undefined && typeof name !== 'string') throw invalidOption('name', name, 'use a text')
  if (restart !== undefined && !['permanent', 'transient', 'temporary'].includes(restart)) {
    throw invalidOption('restart', restart, 'use permanent, transient or temporary')
  }
  if (shutdown !== undefined) checkMilliseconds('shutdown', shutdown)
  if (deadline !== undefined) checkMilliseconds('deadline', deadline)
  if (mailbox !== undefined) checkOptions(mailbox, ['capacity', 'whenFull'] satisfies (keyof MailboxOptions)[], 'mailbox')
  if (worker !== undefined && typeof worker !== 'string') throw invalidOption('worker', worker, 'use a text, the name of the thread')
  if (cancel !== undefined && typeof cancel !== 'function') throw invalidOption('cancel', cancel, 'use a function')
  if (heartbeat === undefined) return
  checkOptions(heartbeat, ['timeout'], 'heartbeat')
  checkMilliseconds('heartbeat.timeout', heartbeat.timeout)
}

/** Throws INVALID_OPTION for what is no ref. */
export function checkRef(parameter: string, actor: ActorRef<object>): void {
  // Not by its class: a thread may have two copies of this package.
  const { exited } = Object(actor) as Partial<ActorRef<object>>
  if (typeof exited?.then !== 'function') throw invalidOption(parameter, actor, 'use the ref of an actor')
}
