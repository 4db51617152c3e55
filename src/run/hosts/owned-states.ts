import type { Engine, Handle } from '../../engine/contract.js'

/** The states of a group's optimiser, by their names in its snapshot. */
const STATES: ReadonlySet<string> = new Set(['central.velocity', 'central.firstMoment', 'central.secondMoment'])

/** The states of which each host has only those of its chunks, where the owners of chunks apply the rule, and zeros elsewhere. */
export function ownedStates(engine: Pick<Engine, 'snapshotParts'>, snapshot: Handle): readonly string[] {
  return engine.snapshotParts(snapshot).vectors.filter((vector) => STATES.has(vector))
}

/** Adds the states of other hosts, the bytes of each vector by its name, to this host's snapshot. */
export function addStates(
  engine: Pick<Engine, 'readSnapshot' | 'writeSnapshot'>,
  snapshot: Handle,
  others: readonly ReadonlyMap<string, Uint8Array>[]
): void {
  for (const vector of new Set(others.flatMap((states) => [...states.keys()]))) {
    const whole = engine.readSnapshot(snapshot, vector)
    const bits = new Uint32Array(whole.buffer)
    for (const states of others) {
      // A copy, which begins at a whole number: what has come does not.
      const theirs = new Uint32Array(new Uint8Array(states.get(vector)!).buffer)
      // Each number is that of one host, and the bits of the others are zero: unlike a sum this keeps the sign of a zero.
      for (let i = 0; i < bits.length; i++) bits[i]! |= theirs[i]!
    }
    engine.writeSnapshot(snapshot, vector, whole)
  }
}
