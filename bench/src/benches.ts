import { actors } from './actors.js'
import { asks } from './asks.js'
import { averaging } from './averaging.js'
import type { Bench } from './bench.js'
import { crossoverBench } from './crossover.js'
import { dashboard } from './dashboard.js'
import { growth } from './growth.js'
import { memory } from './memory.js'
import { population } from './population/population.js'
import { gpu } from './gpu.js'
import { hosts } from './hosts.js'
import { hub } from './hub.js'
import { record } from './record.js'
import { roofline } from './roofline.js'
import { startUp } from './start-up.js'
import { staleness } from './staleness.js'
import { throughput } from './throughput.js'
import { tta } from './tta.js'

/** All benches by name. */
export const benches: ReadonlyMap<string, Bench> = new Map([
  ['throughput', throughput],
  ['roofline', roofline],
  ['averaging', averaging],
  ['growth', growth],
  ['start-up', startUp],
  ['actors', actors],
  ['asks', asks],
  ['dashboard', dashboard],
  ['population', population],
  ['gpu', gpu],
  ['memory', memory],
  ['hosts', hosts],
  ['hub', hub],
  ['crossover', crossoverBench],
  ['staleness', staleness],
  ['tta', tta],
  ['record', record]
])
