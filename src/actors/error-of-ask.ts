import { ArbalestError, codeOf } from '../errors.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import { describeExit } from '../runtime/exit-reason.js'

/**
 * The error of an ask that an actor of the library's own has rejected: where it died, by what it died and `what` that means, for a user who has spawned no actor. As it is
 * for any other error, and where the actor was stopped.
 */
export async function errorOfAsk<Actor extends object>(error: unknown, actor: ActorRef<Actor>, what: string): Promise<unknown> {
  if (codeOf(error) !== 'ACTOR_GONE') return error
  const reason = await actor.exited
  if (reason.kind === 'stopped') return error
  return new ArbalestError('ACTOR_GONE', `${actor.name}: ${describeExit(reason)} ${what}`, { cause: error, data: { actor: actor.name } })
}
