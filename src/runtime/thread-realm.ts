import { REAL_CLOCK } from './clock.js'
import type { RuntimeEvent } from './events.js'
import type { Realm } from './realm.js'
import { soon } from './soon.js'
import type { Offspring } from './spawning.js'

/** Turns in a row before the event loop, with its timers and ports, has one. */
const TURNS_A_BREATH = 1024

/** How the children of an actor are made. */
export type FamilyClass = new (parent: string, realm: Realm, fail: (error: Error) => void) => Offspring

/** The realm of a real thread. `entry` is the module that its workers begin with. */
export function threadRealm(entry: URL, publish: (event: RuntimeEvent) => void, family: FamilyClass): Realm {
  let turns = 0
  const realm: Realm = {
    clock: REAL_CLOCK,
    dispatch: (turn) => {
      if (++turns % TURNS_A_BREATH === 0) setImmediate(turn)
      else soon(turn)
    },
    defer: (turn) => void setImmediate(turn),
    burst: TURNS_A_BREATH,
    random: Math.random,
    publish,
    entry,
    shared: new Map(),
    raise: (parent, fail) => new family(parent, realm, fail)
  }
  return realm
}
