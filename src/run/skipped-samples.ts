import type { SkippedSample } from '../actors/feeder.js'
import type { SampleSkippedEvent } from '../observe/events.js'

/** Tells of the samples of a run that could not be read, with their number so far. Over hosts several may meet the same one: it is told once. */
export class SkippedSamples {
  readonly #emit: (event: SampleSkippedEvent) => void
  /** Those that a host has told; undefined in a run of one process, whose feeder tells of each once. */
  readonly #told: Set<string> | undefined
  #count = 0

  constructor(emit: (event: SampleSkippedEvent) => void, { overHosts }: { readonly overHosts: boolean }) {
    this.#emit = emit
    if (overHosts) this.#told = new Set()
  }

  tell({ item, reason }: SkippedSample): void {
    if (this.#told?.has(item)) return
    this.#told?.add(item)
    this.#emit({ event: 'sampleSkipped', item, reason, skipped: ++this.#count })
  }
}
