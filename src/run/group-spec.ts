import type { Program } from '../compiler/program.js'
import type { GroupSpec, Handle } from '../engine/contract.js'
import { averageInSamples } from '../options/average.js'
import { iterationSamples } from '../options/settings.js'
import { levelSpec } from './level-order.js'
import type { RunSettings } from './run-settings.js'

/** The group of a run that trains `train` on `samples` training samples, without its first central model. */
export function groupSpec(
  { parameters: layout, segments }: Program,
  settings: Pick<RunSettings, 'backend' | 'rule' | 'devices' | 'average' | 'batch' | 'optimiser'>,
  samples: number,
  hosts?: Handle
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
    // Without the hosts themselves, when memory is counted: a loopback takes as much.
    levels: devices.levels.map((level) => levelSpec(level, hosts))
  }
}
