import type { Program } from '../../compiler/program.js'
import type { EvaluationAverage, GroupRule, LevelName } from '../../engine/contract.js'
import type { DevicesSettings } from '../../options/devices.js'

/** The vectors of the parameters' length that a run holds, besides those of its programs. They mirror the engine's allocations. */
export interface VectorCount {
  /** Of each learner's optimiser, with the sum of gradients of accumulated batches. */
  readonly optimiser: number
  /** Of each learner's contribution to a round; -1 if the learner has no weights of its own. */
  readonly contribution: number
  /** Of the group: central models, the vectors of the rule, and averages for evaluation. */
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
    // In place, the learners compute on the weights of the central model.
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

/** Of the levels: a sum of each device's learners, and for each level its sums, or the parts that it sends and receives. */
function levelVectors({ devices, gpus, levels }: Pick<DevicesSettings, 'devices' | 'gpus' | 'levels'>): number {
  if (levels.length === 0) return 0
  const sums = gpus ? devices.length : 1
  const parts = (level: LevelName) => (levels.indexOf(level) > levels.indexOf('devices') && devices.length > 1 ? sums : devices.length)
  return devices.length + levels.reduce((sum, level) => sum + (level === 'devices' ? sums : 2 * parts(level)), 0)
}
