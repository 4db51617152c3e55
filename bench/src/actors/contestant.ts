/** An actor, a bare worker or a peer's worker: it returns a number, and counts numbers. */
export interface Contestant {
  /** Resolves with the same number. */
  echo(value: number): Promise<number>
  /** A message without an answer; part of the next envelope where the contestant sends envelopes. */
  add(value: number): void
  /** Ends the envelope. Resolves with the count of added numbers when all earlier messages have been handled. */
  added(): Promise<number>
  /** Ends it. Resolves when its thread, if it has one, has ended. */
  close(): Promise<void>
}

/** Starts a contestant. Resolves at once if the library does not wait until it is ready. */
export type Opener = () => Promise<Contestant> | Contestant

/** For libraries in which every message has an answer. */
export function unsupported(what: string): never {
  throw new Error(`${what}: this contestant has none`)
}
