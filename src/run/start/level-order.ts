import type { Engine, LevelName, LevelSpec } from '../../engine/contract.js'
import type { EngineBackend } from '../../compiler/program.js'
import type { LevelFigures, LevelsEvent } from '../../observe/events.js'
import type { DevicesSettings } from '../../options/devices.js'

/** Bytes of the largest vector that is measured: the speed of larger ones is the same. */
const MOST_MEASURED = 2 ** 26
/** Reductions of a measurement; the fastest counts. */
const TURNS = 5

/** A level to hosts that are not there, and that answer at once. */
export const LOOPBACK: LevelSpec = { kind: 'loopback', latency: 0 }

/** The engine's description of a level; `hosts` is that of the level of hosts. */
export function levelSpec(name: LevelName, hosts: LevelSpec): LevelSpec {
  return name === 'devices' ? { kind: 'devices' } : hosts
}

/**
 * Measures the levels and chooses their fastest order; undefined if there are none, or other hosts. The order does not change the result of training: this host is
 * the only one, so every order gives the same bits.
 */
export function chosenLevels(
  engine: Pick<Engine, 'capabilities' | 'timeLevel'>,
  { devices, levels, ordered, hosts, link = Infinity }: DevicesSettings,
  backend: EngineBackend,
  bytes: number
): LevelsEvent | undefined {
  // A measurement of several hosts would have to be made on all of them at once.
  if (levels.length === 0 || (levels.includes('hosts') && hosts === 'auto')) return undefined
  const part = Math.max(4, Math.min(bytes, MOST_MEASURED))
  const orders = ordered || levels.length === 1 ? [levels] : [levels, levels.toReversed()]
  const measured = new Map<string, LevelFigures>()
  const speed = (level: LevelName, parts: number): LevelFigures => {
    const key = `${level} ${parts}`
    const known = measured.get(key)
    if (known) return known
    const unshaped = (parts * part) / Math.min(...engine.timeLevel(backend, levelSpec(level, LOOPBACK), parts, part, TURNS))
    const bytesPerSecond = level === 'hosts' ? Math.min(unshaped, link) : unshaped
    const figures = { level, parts, bytesPerSecond, seconds: (parts * bytes) / bytesPerSecond }
    measured.set(key, figures)
    return figures
  }
  // Devices that share one memory have one sum, others have a sum each.
  const sums = engine.capabilities(backend).memory === 'device' ? devices.length : 1
  const timed = orders.map((order) => ({ levels: order, seconds: seconds(order, devices.length, sums, speed) }))
  const best = timed.reduce((one, other) => (other.seconds < one.seconds ? other : one))
  return {
    event: 'levels',
    devices: devices.map(({ cores }) => cores),
    levels: best.levels,
    measured: [...measured.values()],
    orders: timed,
    reason: reasonOf(ordered, best, timed)
  }
}

interface TimedOrder {
  readonly levels: readonly LevelName[]
  readonly seconds: number
}

/** For the sums of one round. Each device has a part, until the level of devices adds the parts up to `sums` sums. */
function seconds(
  order: readonly LevelName[],
  devices: number,
  sums: number,
  speed: (level: LevelName, parts: number) => LevelFigures
): number {
  let parts = devices
  let sum = 0
  for (const level of order) {
    sum += speed(level, parts).seconds
    if (level === 'devices') parts = sums
  }
  return sum
}

function reasonOf(ordered: boolean, best: TimedOrder, timed: readonly TimedOrder[]): string {
  const pace = `${milliseconds(best.seconds)} a round`
  if (ordered) return `as given; ${pace}`
  const other = timed.find((each) => each !== best)
  return other ? `${pace}, where ${other.levels.join(', ')} takes ${milliseconds(other.seconds)}` : `there is no other; ${pace}`
}

function milliseconds(time: number): string {
  return `${(1000 * time).toPrecision(2)} ms`
}
