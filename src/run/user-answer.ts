import { ArbalestError, thrownByCallback } from '../errors.js'
import { deadlineAfter, REAL_CLOCK, type Cancel } from '../runtime/clock.js'

/** Milliseconds for which a run that is stopped still waits for the answer: long enough to write a line, short enough not to seem to hang. */
export const PATIENCE = 1_000

export interface AnswerOptions {
  /** The option that is awaited, for the error. */
  readonly name: string
  readonly stop: AbortSignal
  /** Milliseconds. */
  readonly deadline?: number
}

/**
 * The answer of a function that the user has given; undefined if the run is stopped and no answer comes soon. Rejects with the function's error, and with
 * DEADLINE_EXCEEDED.
 */
export async function userAnswer<Answer>(
  ask: () => Promise<Answer>,
  { name, stop, deadline = Infinity }: AnswerOptions
): Promise<Answer | undefined> {
  const cancels: Cancel[] = []
  const stopped = new Promise<undefined>((resolve) => {
    const wait = () => cancels.push(REAL_CLOCK.after(PATIENCE, () => resolve(undefined)))
    stop.addEventListener('abort', wait, { once: true })
    cancels.push(() => stop.removeEventListener('abort', wait))
    if (stop.aborted) wait()
  })
  const late = new Promise<never>((_, reject) => {
    const message = `${name}: received no answer within ${deadline} ms; answer sooner, or give a longer ${name}Deadline`
    const refuse = () => reject(new ArbalestError('DEADLINE_EXCEEDED', message, { data: { deadline } }))
    cancels.push(deadlineAfter(REAL_CLOCK, deadline, refuse))
  })
  try {
    return await Promise.race([ask(), stopped, late])
  } catch (error) {
    throw thrownByCallback(error)
  } finally {
    for (const cancel of cancels) cancel()
  }
}
