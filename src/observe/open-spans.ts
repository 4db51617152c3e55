import { messageOf, warn } from '../errors.js'
import type { RunSpans } from './run-spans.js'

/** Where every copy of @opentelemetry/api 1 keeps what a program has registered. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')

/** The spans of a run, if the program has registered a tracer provider with OpenTelemetry. Where it has not, nothing is loaded. */
export async function openSpans(): Promise<RunSpans | undefined> {
  const registered = (globalThis as { readonly [REGISTERED]?: { readonly trace?: unknown } })[REGISTERED]
  if (registered?.trace === undefined) return undefined
  try {
    const spans = await import('./run-spans.js')
    return new spans.RunSpans()
  } catch (cause) {
    warn(`a run has no spans: ${messageOf(cause)}; install @opentelemetry/api beside arbalest`)
    return undefined
  }
}
