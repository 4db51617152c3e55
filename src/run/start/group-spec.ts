import type { Program } from '../../compiler/program.js'
import type { GroupSpec, LevelSpec } from '../../engine/contract.js'
import { averageInSamples } from '../../options/average.js'
import { iterationSamples } from '../../options/settings.js'
import { levelSpec, LOOPBACK } from './level-order.js'
import type { RunSettings } from '../run-settings.js'

/**
 * The group of a run that trains `train` on `samples` training samples, without its first central model. `hosts` is the level of hosts; a loopback, which takes as
 * much memory, when memory is counted.
 */
export function groupSpec(
  { parameters: layout, segments }: Program,
  settings: Pick<RunSettings, 'backend' | 'rule' | 'devices' | 'average' | 'batch' | 'optimiser'>,
  samples: number,
  hosts: LevelSpec = LOOPBACK
): Omit<GroupSpec, 'initial'> {
  const { backend, rule, devices } = settings
  const average = averageInSamples(settings.average, samples)
  return {
    backend,
    layout,
    batch: iterationSamples(settings),
    rule,
    optimiser: segments.update[0]!.attributes,
    ...(average && { average }),
    devices: devices.devices.length,
    levels: devices.levels.map((level) => levelSpec(level, hosts))
  }
}
