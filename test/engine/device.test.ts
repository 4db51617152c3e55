import { expect } from 'chai'
import { compile } from '../../src/compiler/compile.js'
import type { BackendName, Precision } from '../../src/compiler/program.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { buildGraph } from '../../src/model/graph-builder.js'
import { initialParameters } from '../../src/model/initialise.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { thrown } from '../support/thrown.js'

/** The GPU under `npm run test:gpu`, else its stand-in. */
const DEVICE: BackendName = process.env['ARBALEST_TEST_GPU'] ? 'cuda' : 'cuda-host'
const BATCH = 4
const STEPS = 6
const LOAD = { padding: 2, flip: true, mean: [0.4], deviation: [0.3], shuffled: true }

/** Losses of some steps of training, one native call for all: after its first step a device runs what it has recorded. */
function losses(backend: BackendName, precision: Precision, name: string, input: readonly number[]): number[] {
  const model = modelNamed(name, { input: [...input], classes: 10 })
  const optimiser = { momentum: 0.9, weightDecay: 1e-4 }
  const program = compile(model, loweringBackend(engine, backend), { batch: BATCH, mode: 'train', precision, load: LOAD, optimiser })
  const weights = initialParameters(buildGraph(model, { batch: BATCH, mode: 'train', load: LOAD }), 5)
  const count = 40
  const samples = Uint8Array.from({ length: count * input.reduce((a, b) => a * b) }, (_, i) => (i * i * 31 + i * 7) % 251)
  const labels = Int32Array.from({ length: count }, (_, i) => (i * 7) % 10)
  const dataset = engine.createDataset({ count, sample: input, samples, labels, classes: 10 })
  const replica = engine.createReplica({ backend, layout: program.parameters, threads: 1, seed: 3 })
  const handle = engine.createProgram(program)
  try {
    const slot = engine.bind(replica, handle, dataset)
    engine.writeVector(replica, 'weights', weights)
    return Array.from({ length: STEPS }, (_, step) => {
      const { lossSum } = engine.run(replica, slot, { steps: 2, milliseconds: 60_000, position: 2 * step * BATCH, rate: 0.02 })
      return lossSum / 2
    })
  } finally {
    for (const each of [replica, handle, dataset]) engine.release(each)
  }
}

describe(`The CUDA backend (${DEVICE})`, () => {
  for (const [name, input] of [
    ['lenet', [1, 28, 28]],
    ['resnet20', [3, 32, 32]]
  ] as const) {
    it(`trains ${name} as the reference does, steps recorded and samples from the device`, function () {
      this.timeout(120_000)
      const expected = losses('cpu', 'f32', name, input)
      const found = losses(DEVICE, 'f32', name, input)
      found.forEach((loss, step) => expect(loss, `step ${step}`).to.be.closeTo(expected[step]!, name === 'lenet' ? 1e-4 : 1e-2))
      expect(Math.max(...expected) - Math.min(...expected)).to.be.above(0.1)
    })
  }

  it('trains in bfloat16 about as in float32', () => {
    const expected = losses('cpu', 'f32', 'lenet', [1, 28, 28])
    const found = losses(DEVICE, 'bf16', 'lenet', [1, 28, 28])
    found.forEach((loss, step) => expect(loss, `step ${step}`).to.be.closeTo(expected[step]!, 0.1))
  })

  it('gives the same bits in every run', () => {
    expect(losses(DEVICE, 'f32', 'lenet', [1, 28, 28])).to.deep.equal(losses(DEVICE, 'f32', 'lenet', [1, 28, 28]))
  })

  it('says in one sentence why backend cuda is not to be had', function () {
    let error
    try {
      engine.bytes('cuda', [1], 'f32', 'plain')
      // A machine with a GPU has nothing to refuse.
      this.skip()
    } catch {
      error = thrown(() => engine.bytes('cuda', [1], 'f32', 'plain'))
    }
    expect(error.code).to.equal('BACKEND_UNAVAILABLE')
    expect(error.message).to.match(
      /^backend cuda: [^\n]+(not built on this machine; run `npm run setup:cuda`|it needs an NVIDIA GPU and a driver)/
    )
  })
})
