import { compile } from '../../src/compiler/compile.js'
import type { EngineBackend, LoweringBackend, Precision } from '../../src/compiler/program.js'
import type { DatasetSpec } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { takesTokens } from '../../src/model/model.js'
import type { Problem } from './problem.js'
import type { Trace } from './trace.js'

function lowering(name: EngineBackend): LoweringBackend {
  return {
    name,
    lower: (request) => engine.lower(name, request),
    bytes: (shape, type, layout) => engine.bytes(name, shape, type, layout)
  }
}

function samplesOf({ model, batch, inputs, targets }: Problem): DatasetSpec {
  const count = batch * inputs.length
  const samples = new Float32Array(inputs.flatMap((input) => [...input]))
  const labels = new Int32Array(targets.flatMap((target) => [...target]))
  return { count, sample: model.input, samples, labels, ...(labels.length > count && { label: [labels.length / count] }), classes: 10 }
}

/** Texts in bytes, with a class each. */
function textsOf(problem: Problem): DatasetSpec {
  const { samples, ...all } = samplesOf(problem)
  return { ...all, samples: Int32Array.from(samples as Float32Array) }
}

/** The row of tokens that the windows were cut from. */
function windowsOf({ model, batch, inputs, targets }: Problem): DatasetSpec {
  const samples = Int32Array.from([...inputs.flatMap((input) => [...input]), targets.at(-1)!.at(-1)!])
  return { count: batch * inputs.length, sample: model.input, samples, stride: model.input[0]!, classes: 10 }
}

/** The problem's steps on one of our backends; the batches are a data set taken in order, so that loading is tested too. */
export function runOurs(problem: Problem, options: { backend: EngineBackend; precision: Precision; steps?: number }): Trace {
  const { model, batch, momentum, weightDecay, rate } = problem
  const { backend, precision, steps = problem.steps } = options
  const program = compile(model, lowering(backend), {
    batch,
    mode: 'train',
    precision,
    load: { shuffled: false },
    optimiser: { momentum, weightDecay, nesterov: false }
  })
  const dataset = engine.createDataset(
    !takesTokens(model) ? samplesOf(problem) : problem.targets[0]!.length === batch ? textsOf(problem) : windowsOf(problem)
  )
  const handle = engine.createProgram(program)
  const replica = engine.createReplica({ backend, layout: program.parameters, threads: 1, seed: 1 })
  try {
    const slot = engine.bind(replica, handle, dataset)
    engine.writeVector(replica, 'weights', precision === 'f64' ? Float64Array.from(problem.weights) : problem.weights)
    let gradients: ArrayLike<number> = []
    const losses = Array.from({ length: steps }, (_, step) => {
      const report = engine.run(replica, slot, { steps: 1, milliseconds: 60_000, position: step * batch, learningRate: rate })
      if (step === 0) gradients = engine.readVector(replica, 'gradients')
      return report.lossSum
    })
    return { losses, gradients, trained: engine.readVector(replica, 'weights') }
  } finally {
    for (const held of [replica, handle, dataset]) engine.release(held)
  }
}
