import { expect } from 'chai'
import { compile } from '../../../src/compiler/compile.js'
import type { EngineBackend, Precision } from '../../../src/compiler/program.js'
import type { DatasetSpec, Handle } from '../../../src/engine/contract.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { engine } from '../../../src/engine/native.js'
import { buildGraph, type LoadOptions } from '../../../src/model/graph-builder.js'
import { initialParameters } from '../../../src/model/initialise.js'
import { concat, conv2d, defineModel, flatten, linear, localResponseNorm, maxPool2d, relu } from '../../../src/model/layers.js'
import type { Model } from '../../../src/model/model.js'
import { gpt } from '../../../src/model/zoo/index.js'

/** The GPU under `npm run test:gpu`, else its stand-in. */
export const DEVICE: EngineBackend = process.env['ARBALEST_TEST_GPU'] ? 'cuda' : 'cuda-host'
export const CLASSES = 10

export interface Training {
  readonly model: Model
  readonly data: DatasetSpec
  readonly load: LoadOptions
  readonly batch: number
  /** The program is bound anew before each call, whose first step is then not a recorded one. */
  readonly anew?: boolean
  readonly calls: number
  /** Of a call; after its first one of all a device runs what it has recorded. */
  readonly steps: number
  readonly rate: number
}

const pixels = (count: number): Uint8Array => Uint8Array.from({ length: count }, (_, i) => (i * i * 31 + i * 7) % 251)

export function ofImages(model: Model, few = false): Training {
  const count = 40
  const labels = Int32Array.from({ length: count }, (_, i) => (i * 7) % CLASSES)
  const samples = pixels(count * model.input.reduce((a, b) => a * b))
  const load = { padding: 2, flip: true, mean: [0.4], std: [0.3], shuffled: true }
  return {
    model,
    data: { count, sample: model.input, samples, labels, classes: CLASSES },
    load,
    rate: 0.02,
    ...(few ? { batch: 2, calls: 2, steps: 1 } : { batch: 4, calls: 6, steps: 2 })
  }
}

export function ofTokens(): Training {
  const [count, context, known] = [40, 24, 31]
  // A row that repeats itself.
  const samples = Int32Array.from({ length: count * context + 1 }, (_, i) => (i * i) % known)
  const model = gpt({ input: [context], classes: known }, { layers: 2, heads: 2, width: 32, dropout: 0.1 })
  const data = { count, sample: [context], samples, stride: context, classes: known }
  return { model, data, load: { shuffled: true }, batch: 4, calls: 12, steps: 2, rate: 0.1 }
}

/** What AlexNet had at first, and branches, for several labels a sample. */
export function ofManyLabels(): Training {
  const model = defineModel({
    name: 'labels',
    input: [3, 16, 16],
    loss: 'binaryCrossEntropy',
    layers: [
      conv2d(8, 3, { padding: 1 }),
      relu(),
      localResponseNorm(5, { alpha: 0.1, k: 2 }),
      maxPool2d(2),
      concat([[conv2d(6, 3, { padding: 1 }), relu()], [conv2d(3, 1)]]),
      flatten(),
      linear(CLASSES)
    ]
  })
  const count = 40
  const targets = Float32Array.from({ length: count * CLASSES }, (_, i) => Number((i * 7) % 3 === 0))
  const data = { count, sample: model.input, samples: pixels(count * 768), target: [CLASSES], targets }
  return { model, data, load: { shuffled: true }, batch: 4, calls: 6, steps: 2, rate: 0.05 }
}

/** Mean losses of the calls. */
export function losses(
  backend: EngineBackend,
  precision: Precision,
  training: Training,
  source: (training: Training) => Handle = ({ data }) => engine.createDataset(data),
  device = 0
): number[] {
  const { model, load, batch, calls, steps, rate, anew } = training
  const optimiser = { momentum: 0.9, weightDecay: 1e-4 }
  const program = compile(model, loweringBackend(engine, backend), { batch, mode: 'train', precision, load, optimiser })
  const weights = initialParameters(buildGraph(model, { batch, mode: 'train', load }), 5)
  const dataset = source(training)
  const replica = engine.createReplica({ backend, device, layout: program.parameters, threads: 1, seed: 3 })
  const handle = engine.createProgram(program)
  try {
    let slot = engine.bind(replica, handle, dataset)
    engine.writeVector(replica, 'weights', weights)
    return Array.from({ length: calls }, (_, call) => {
      if (anew === true) slot = engine.bind(replica, handle, dataset)
      const { lossSum } = engine.run(replica, slot, { steps, milliseconds: 60_000, position: steps * call * batch, learningRate: rate })
      return lossSum / steps
    })
  } finally {
    for (const each of [replica, handle, dataset]) engine.release(each)
  }
}

/** A training ends about where the CPU's does. */
export function expectAsOnCpu(training: Training, tolerance: number): void {
  const expected = losses('cpu', 'f32', training)
  const found = losses(DEVICE, 'f32', training)
  found.forEach((loss, call) => expect(loss, `call ${call}`).to.be.closeTo(expected[call]!, tolerance))
  expect(Math.max(...expected) - Math.min(...expected)).to.be.above(20 * tolerance)
}
