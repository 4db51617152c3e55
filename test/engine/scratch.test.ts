import { expect } from 'chai'
import { compile } from '../../src/compiler/compile.js'
import type { Program } from '../../src/compiler/program.js'
import { inOrder } from '../../src/compiler/step.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { checkMemory } from '../../src/engine/free-memory.js'
import { predictionGraph } from '../../src/model/graph-builder.js'
import { initialParameters } from '../../src/model/initialise.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { refused } from '../support/codes.js'

const model = modelNamed('resnet18', { input: [3, 32, 32], classes: 10 })

function trainingStep(threads: number): Program {
  return compile(model, loweringBackend(engine, 'cpu', threads), { batch: 2, mode: 'train', precision: 'f32', load: { shuffled: false } })
}

/** Of the convolutions: what other operators take is the same for any number of threads. By Winograd's transforms a part of it is for all threads. */
function scratch(program: Program, by: 'winograd' | 'others'): number {
  const convolutions = inOrder(program.segments).filter(({ kind }) => kind.startsWith('conv2d'))
  const some = convolutions.filter(({ implementation }) => implementation.endsWith(':winograd') === (by === 'winograd'))
  return Math.max(0, ...some.map(({ scratch: { bytes } }) => bytes))
}

describe('scratch of a step that several threads run', function () {
  this.timeout(60_000)
  const [one, four] = [trainingStep(1), trainingStep(4)]

  it('is planned for them, in the layouts that one would choose', () => {
    expect(scratch(four, 'others')).to.be.above(2 * scratch(one, 'others'))
    if (scratch(one, 'winograd') > 0) expect(scratch(four, 'winograd')).to.be.above(scratch(one, 'winograd'))
    expect(four.arenas.activations).to.be.at.least(Math.max(scratch(four, 'winograd'), scratch(four, 'others')))
    expect(four.parameters).to.deep.equal(one.parameters)
    const forms = ({ values }: Program) => values.map(({ name, type, layout, bytes }) => ({ name, type, layout, bytes }))
    expect(forms(four)).to.deep.equal(forms(one))
  })

  it('is as large as they want: nothing overwrites what is still read', () => {
    const samples = Uint8Array.from({ length: 2 * 3 * 32 * 32 }, (_, i) => (i * 97) % 251)
    const dataset = engine.createDataset({ count: 2, sample: [3, 32, 32], samples, labels: Int32Array.of(1, 3), classes: 10 })
    const weights = initialParameters(predictionGraph(model), 1)
    const gradients = [one, four].map((program, i) => {
      const handle = engine.createProgram(program)
      const replica = engine.createReplica({ backend: 'cpu', layout: program.parameters, threads: i === 0 ? 1 : 4, seed: 1 })
      try {
        const slot = engine.bind(replica, handle, dataset)
        engine.writeVector(replica, 'weights', weights)
        engine.run(replica, slot, { steps: 1, milliseconds: 60_000, learningRate: 0 })
        return engine.readVector(replica, 'gradients')
      } finally {
        for (const held of [replica, handle]) engine.release(held)
      }
    })
    engine.release(dataset)
    const [ours, theirs] = gradients as [Float32Array, Float32Array]
    let [difference, length] = [0, 0]
    for (const [i, value] of ours.entries()) {
      difference += (value - theirs[i]!) ** 2
      length += value ** 2
    }
    expect(Math.sqrt(difference / length)).to.be.below(1e-3)
  })
})

describe('checkMemory', () => {
  it('refuses what would end the process when it is touched', async () => {
    const full = { ...engine, describe: () => ({ ...engine.describe(), freeMemory: 2 ** 20 }) }
    checkMemory(full, 2 ** 20, { backend: 'cpu', what: 'program' })
    const refusal = () => checkMemory(full, 2 ** 21, { backend: 'cpu', what: 'program lenet' })
    await refused('OUT_OF_MEMORY', refusal, 'program lenet: takes 2.0 MiB', '1.0 MiB are free')
  })

  it('asks of a GPU what it has itself', async () => {
    const machine = { ...engine.describe(), freeMemory: 2 ** 40 }
    const gpu = {
      ...engine,
      describe: () => machine,
      freeMemory: (_: string, devices: number, first: number) => (devices + first) * 2 ** 20
    }
    checkMemory(gpu, 2 ** 21, { backend: 'cuda-host', device: 1, what: 'program' })
    const refusal = () => checkMemory(gpu, 2 ** 21, { backend: 'cuda-host', what: 'program lenet' })
    await refused('OUT_OF_MEMORY', refusal, 'program lenet: takes 2.0 MiB', '1.0 MiB are free')
  })
})
