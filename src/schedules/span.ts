/** A stretch of a run: in epochs where it is a number alone, else as it says; a share is a part of the whole run, 0 to 1. */
export type Duration = number | { readonly epochs: number } | { readonly iterations: number } | { readonly fraction: number }

/** How far a run is: passes over the training set, steps of each learner, and the part that is done, 0 to 1. */
export interface Progress {
  readonly epoch: number
  readonly iteration: number
  readonly fraction: number
}

/** How often the span has gone by. */
export function elapsed(span: Duration, { epoch, iteration, fraction: share }: Progress): number {
  if (typeof span === 'number') return epoch / span
  if ('epochs' in span) return epoch / span.epochs
  return 'iterations' in span ? iteration / span.iterations : share / span.fraction
}

/** The span so many times over. */
export function times(span: Duration, factor: number): Duration {
  if (typeof span === 'number') return span * factor
  if ('epochs' in span) return { epochs: span.epochs * factor }
  return 'iterations' in span ? { iterations: span.iterations * factor } : { fraction: span.fraction * factor }
}
