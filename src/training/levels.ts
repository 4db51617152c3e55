import type { LevelSpec } from '../engine/contract.js'
import type { LevelName } from './settings/devices.js'

/** What the engine makes of a level; hosts are a loopback so far. */
export function levelSpec(name: LevelName): LevelSpec {
  return name === 'devices' ? { kind: 'devices' } : { kind: 'loopback', latency: 0 }
}
