import { expect } from 'chai'
import { readdir } from 'node:fs/promises'
import type { TrainOptions } from '../../../src/index.js'
import { parameterCount } from '../../../src/model/graph-builder.js'
import { gpt } from '../../../src/model/zoo/index.js'
import { DiskFolder } from '../../support/disk-folder.js'
import { limitedRun, limitsOf } from './limited-run.js'
import { datasetFromText } from '../../../src/data/datasets.js'

const data = await datasetFromText({ text: 'jack and jill went up the hill to fetch a pail of water. '.repeat(30), context: 16 })
const model = gpt({ input: data.sample, classes: data.classes }, { layers: 3, heads: 4, width: 128, dropout: 0.1 })

/** Of a vector that is laid out like the parameters. */
export const VECTOR_BYTES = 4 * parameterCount(model)

/** A run whose parameters take more memory than its activations. */
export const MANY_WEIGHTS = {
  model,
  data,
  batch: 4,
  learners: 1,
  optimiser: { name: 'adamw', learningRate: 0.01, milestones: [] },
  until: { steps: 3 },
  seed: 3
} as const satisfies TrainOptions

/** Within parts of what may be saved, runs keep their limits, leave nothing on the disk, and end with the weights of a run without a limit. */
export async function expectSameWeightsWithin(options: Partial<TrainOptions>, parts: readonly number[]): Promise<void> {
  await using folder = await DiskFolder.make()
  const given: TrainOptions = { ...MANY_WEIGHTS, ...options, ...(options.backend === undefined && { spill: folder.path }) }
  const { whole, limits } = await limitsOf(given, parts)
  // Less than each learner's parameters and gradients and the states of one optimiser: at the least a learner takes about two vectors while it computes.
  expect(limits[0]).to.be.below(2 * ((options.learners as number | undefined) ?? 1) * VECTOR_BYTES + 2 * VECTOR_BYTES)
  for (const deviceMemory of limits) {
    const { started, finished } = await limitedRun({ ...given, deviceMemory })
    expect(started.movedBytes).to.be.above(0)
    expect(started.predictedSlowdown).to.be.above(1)
    expect(finished.peakDeviceBytes).to.be.at.most(deviceMemory)
    expect(finished.weightsSha256).to.equal(whole.finished.weightsSha256)
    expect(finished.testLoss).to.equal(whole.finished.testLoss)
  }
  expect(await readdir(folder.path)).to.deep.equal([])
}
