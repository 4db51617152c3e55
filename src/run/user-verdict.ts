import { ArbalestError } from '../errors.js'
import type { EvaluatedEvent } from '../observe/events.js'
import type { Verdict } from '../options/evaluation.js'
import type { Settings } from '../options/settings.js'
import { REAL_CLOCK, type Cancel } from '../runtime/clock.js'

/** Milliseconds for which a run that is stopped still waits for the answer: long enough to write a line, short enough not to seem to hang. */
const PATIENCE = 1_000

/**
 * The answer of `onEvaluated`; undefined if the run is stopped and no answer comes soon. Rejects with the error of `onEvaluated`, and with
 * DEADLINE_EXCEEDED.
 */
export async function userVerdict(
  { onEvaluated, onEvaluatedDeadline: deadline }: Pick<Settings, 'onEvaluated' | 'onEvaluatedDeadline'>,
  event: EvaluatedEvent,
  stop: AbortSignal
): Promise<Verdict> {
  if (!onEvaluated) return undefined
  const cancels: Cancel[] = []
  const stopped = new Promise<undefined>((resolve) => {
    const wait = () => cancels.push(REAL_CLOCK.after(PATIENCE, () => resolve(undefined)))
    stop.addEventListener('abort', wait, { once: true })
    cancels.push(() => stop.removeEventListener('abort', wait))
    if (stop.aborted) wait()
  })
  const late = new Promise<never>((_, reject) => {
    const message = `onEvaluated: received no answer within ${deadline} ms; answer sooner, or give a longer onEvaluatedDeadline`
    cancels.push(REAL_CLOCK.after(deadline, () => reject(new ArbalestError('DEADLINE_EXCEEDED', message, { data: { deadline } }))))
  })
  try {
    return await Promise.race([onEvaluated(event), stopped, late])
  } finally {
    for (const cancel of cancels) cancel()
  }
}
