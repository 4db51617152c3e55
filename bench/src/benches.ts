import { actors } from './actors.js'
import type { Bench } from './bench.js'
import { throughput } from './throughput.js'

/** Every bench by its name; a new one is one line here. */
export const benches: ReadonlyMap<string, Bench> = new Map([
  ['throughput', throughput],
  ['actors', actors]
])
