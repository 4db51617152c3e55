import { readdirSync, readlinkSync, truncateSync } from 'node:fs'
import { engine } from '../../../src/engine/native.js'
import type { EvaluationAverage } from '../../../src/engine/contract/groups.js'
import { compile } from '../../../src/compiler/compile.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { buildGraph } from '../../../src/model/graph-builder.js'
import { initialParameters } from '../../../src/model/initialise.js'
import { thrown } from '../../support/thrown.js'
import { randomSamples, SMALL_MODEL } from './small-training.js'

const backend = 'cpu'
const batch = 4
const load = { padding: 0, flip: false, mean: [], std: [], shuffled: true }

/** The files without names that this process has open in a folder, in the order in which they were opened. */
function filesIn(folder: string): string[] {
  const linkOf = (path: string): string => {
    try {
      return readlinkSync(path)
    } catch {
      // The descriptor by which the folder of descriptors was read.
      return ''
    }
  }
  return readdirSync('/proc/self/fd')
    .sort((a, b) => Number(a) - Number(b))
    .map((number) => `/proc/self/fd/${number}`)
    .filter((path) => linkOf(path).startsWith(folder))
}

/** Reading what it had then fails. */
const lose = (file: string): void => truncateSync(file)

/** A learner that meets its central model as it comes, whose vectors lie in files of a folder, and those of the group. */
class SpilledLearner {
  readonly group
  readonly groupFiles
  readonly #replica
  readonly #slot

  constructor(folder: string, push: number, average?: EvaluationAverage) {
    const program = compile(SMALL_MODEL, loweringBackend(engine, backend), {
      batch,
      mode: 'train',
      precision: 'f32',
      load,
      optimiser: { momentum: 0 },
      vectors: 'host'
    })
    const layout = program.parameters
    const initial = initialParameters(buildGraph(SMALL_MODEL, { batch, mode: 'train', load }), 7)
    const moved = { vectors: engine.createMovedVectors({ backend, layout, tier: { folder } }), all: true }
    const rule = { kind: 'asynchronous', slack: null, period: 1, exchange: { kind: 'push', push, fetch: 1 } } as const
    this.group = engine.createGroup({ backend, layout, initial, batch, rule, moved, ...(average && { average }) })
    this.groupFiles = filesIn(folder)
    engine.setLearningRates(this.group, 0, Float32Array.of(0.05))
    engine.join(this.group, 0)
    this.#replica = engine.createReplica({ backend, layout, threads: 1, seed: 1, group: this.group, learner: 0, moved })
    this.#slot = engine.bind(this.#replica, engine.createProgram(program), randomSamples(16))
  }

  run = (): string => engine.run(this.#replica, this.#slot, { steps: 1, milliseconds: 100 }).outcome
}

/** How a group is captured after a learner's last push has failed: the codes of both errors. */
export function captureAfterFailedPush(folder: string): { outcome: string; codes: string[] } {
  const learner = new SpilledLearner(folder, 3)
  engine.setEnd(learner.group, 1)
  const outcome = learner.run()
  filesIn(folder).forEach(lose)
  return { outcome, codes: [thrown(learner.run).code, thrown(() => engine.captureGroup(learner.group)).code] }
}

/** How a learner comes to a pause after it has failed to take a round into the evaluation average. */
export function pauseAfterFailedAverage(folder: string): { code: string; outcome: string } {
  const learner = new SpilledLearner(folder, 1, { kind: 'swa', from: 0, every: 1 })
  engine.setPause(learner.group, 1)
  const [, ...averages] = learner.groupFiles
  averages.forEach(lose)
  return { code: thrown(learner.run).code, outcome: learner.run() }
}
