/**
 * The actor system as an API of its own: `import { ActorSystem } from 'arbalest/runtime'`.
 *
 * @module arbalest/runtime
 */
export { ArbalestError, type ErrorCode } from '../errors.js'
export { Later, describeExit } from './actor.js'
export type { ActorClass, ActorContext, ActorHooks, ActorOf, Asks, ExitReason, MethodName, OptionsOf, Tells } from './actor.js'
export type { Cancel, Clock } from './clock.js'
export { comlinkEndpoint, exposeToComlink, type Callable } from './comlink.js'
export type { Timers } from './context.js'
export type { LetterFate, RuntimeEvent, RuntimeEvents } from './events.js'
export type { FullPolicy, MailboxOptions } from './gate.js'
export type { AskOptions } from './pending-asks.js'
export type { Portable } from './portable.js'
export type { ActorRef } from './ref.js'
export type { Backoff, Intensity, RestartType, Strategy, Supervision } from './restart-policy.js'
export type { LocalSpawnOptions, Spawner, SpawnOptions } from './spawning.js'
export { ActorSystem, type SystemOptions } from './system.js'
export type { ActorSnapshot } from './snapshot.js'
export { transfer } from './transfer.js'
