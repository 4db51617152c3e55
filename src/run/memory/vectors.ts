import type { Program } from '../../compiler/program.js'
import type { EvaluationAverage, GroupRule, LevelName } from '../../engine/contract.js'
import type { DevicesSettings } from '../../options/devices.js'

/** How many vectors of the parameters' length a run holds, beside those that its programs have themselves. */
export interface VectorCount {
  /** Of each learner's optimiser, batches that wait for others included. */
  readonly optimiser: number
  /** Where each learner keeps what it brings to a round. */
  readonly contribution: number
  /** The group's: central models, what the rule keeps, and what is averaged for evaluation. */
  readonly central: number
}

const ONE_DEVICE: Pick<DevicesSettings, 'devices' | 'gpus' | 'levels'> = { devices: [{ cores: [] }], levels: [] }

export function vectorCount(train: Program, rule: GroupRule, average?: EvaluationAverage, devices = ONE_DEVICE): VectorCount {
  const copies = devices.devices.length
  const sums = levelVectors(devices)
  const { momentum = 0, beta2, accumulate = 1 } = train.segments.update[0]!.attributes
  const states = beta2 !== undefined ? 2 : Number(momentum !== 0)
  const waiting = Number(accumulate !== 1)
  const averages = average === undefined ? 0 : 2 + (average.kind === 'lawa' ? average.window : 0)
  if (rule.kind === 'asynchronous') {
    // In place, learners have the one central model for their weights.
    const contribution = rule.exchange.kind === 'push' ? 1 : -1
    return { optimiser: states + waiting, contribution, central: 1 + averages }
  }
  const { central, adopts } = rule
  if (central.kind === 'optimiser') return { optimiser: waiting, contribution: 0, central: copies * (3 + states) + sums + averages }
  const outer = central.kind === 'outer' ? 1 + Number(central.momentum !== 0) : 0
  return {
    optimiser: states + waiting,
    contribution: Number(central.kind === 'sma' || !adopts),
    central: copies * (2 + outer) + sums + averages
  }
}

/** That the levels hold, beside the central models: a sum of each device's learners, and what each level makes of its parts or sends and receives. */
function levelVectors({ devices, gpus, levels }: Pick<DevicesSettings, 'devices' | 'gpus' | 'levels'>): number {
  if (levels.length === 0) return 0
  const sums = gpus ? devices.length : 1
  const parts = (level: LevelName) => (levels.indexOf(level) > levels.indexOf('devices') && devices.length > 1 ? sums : devices.length)
  return devices.length + levels.reduce((sum, level) => sum + (level === 'devices' ? sums : 2 * parts(level)), 0)
}
