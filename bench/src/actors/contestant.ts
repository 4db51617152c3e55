/** What an actor, a bare worker or a peer's worker does in every case: it gives back a number, and adds numbers up. */
export interface Contestant {
  /** Resolves with the same number. */
  echo(value: number): Promise<number>
  /** A message without an answer; part of the next envelope where the contestant sends envelopes. */
  add(value: number): void
  /** Ends the envelope; resolves with how many numbers were added so far, once all that was sent before has been handled. */
  added(): Promise<number>
  /** Lets it end. Resolves when its thread, if it has one, is no more. */
  close(): Promise<void>
}

/** Starts one; resolves at once where the library does not wait until it is up. */
export type Opener = () => Promise<Contestant> | Contestant

/** For libraries in which every message has an answer. */
export function unsupported(what: string): never {
  throw new Error(`${what}: this contestant has none`)
}
