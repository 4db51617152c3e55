import { ArbalestError } from '../errors.js'

/** The error of an ask whose actor is no more, or has lost it with one of its lives. */
export function goneError(name: string, method: string, why: string, mend = 'spawn the actor anew', cause?: Error): ArbalestError {
  const message = `${name}.${method}: no answer will come, ${why}; ${mend}`
  return new ArbalestError('ACTOR_GONE', message, { data: { actor: name, method }, ...(cause && { cause }) })
}
