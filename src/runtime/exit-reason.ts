import { ArbalestError, invalidOption } from '../errors.js'
import { asError, packError, unpackError, type PortableError } from './errors-across-threads.js'

/** Why an actor ended. */
export type ExitReason =
  /** It was asked to stop and did. */
  | { readonly kind: 'stopped' }
  /** A hook or a told method threw, or its children failed too often. */
  | { readonly kind: 'failed'; readonly error: Error }
  /** Its thread ended: by `process.exit` in the worker, or because it was terminated. */
  | { readonly kind: 'exited'; readonly code: number }

/** An exit reason in a few words, for messages. */
export function describeExit(reason: ExitReason): string {
  if (typeof reason !== 'object' || reason === null) throw invalidOption('reason', reason, 'give an ExitReason, as `terminated` gets it')
  if (reason.kind === 'stopped') return 'it was stopped'
  if (reason.kind === 'failed') return `it failed with ${reason.error.name}: ${reason.error.message}`
  return `its thread ended with code ${reason.code}`
}

/** ACTOR_GONE: the error of an ask that stays without an answer because the actor, or the incarnation that was asked, has ended. */
export function actorGone(name: string, method: string, why: string, fix = 'spawn the actor again', cause?: Error): ArbalestError {
  const message = `${name}.${method}: no answer will come, ${why}; ${fix}`
  return new ArbalestError('ACTOR_GONE', message, { data: { actor: name, method }, ...(cause && { cause }) })
}

/** An exit reason in a form that can be posted to another thread. */
export type PortableExit = Exclude<ExitReason, { kind: 'failed' }> | { readonly kind: 'failed'; readonly error: PortableError }

export function packExit(reason: ExitReason): PortableExit {
  return reason.kind === 'failed' ? { kind: 'failed', error: packError(reason.error) } : reason
}

export function unpackExit(packed: PortableExit): ExitReason {
  return packed.kind === 'failed' ? { kind: 'failed', error: asError(unpackError(packed.error)) } : packed
}
