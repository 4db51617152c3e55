/**
 * The actor system as an API of its own: `import { ActorSystem } from 'arbalest/runtime'`.
 *
 * @module arbalest/runtime
 */
export { ArbalestError, type ErrorCode } from '../errors.js'
export { DeferredReply } from './actor.js'
export type { ActorClass, ActorHooks, ActorOf, Asks, MethodName, OptionsOf, Tells } from './actor.js'
export type { ActorRef } from './actor-ref.js'
export type { Cancel, Clock } from './clock.js'
export { transfer, type Cloneable } from './cloneable.js'
export { comlinkEndpoint, exposeToComlink, type Callable, type ComlinkEndpoint } from './comlink.js'
export type { ActorContext, LocalSpawnOptions, ScheduledTells, Spawner, SpawnOptions } from './context.js'
export type { DeadLetterCause, RuntimeEvent, RuntimeEvents } from './events.js'
export { describeExit, type ExitReason } from './exit-reason.js'
export type { MailboxOptions, OverflowPolicy } from './flow-control.js'
export type { AskOptions } from './pending-asks.js'
export type { ActorSnapshot } from './snapshot.js'
export type { RestartBackoff, RestartIntensity, RestartStrategy, RestartType, SupervisionPolicy } from './supervision-policy.js'
export { ActorSystem, type SystemOptions } from './system.js'
