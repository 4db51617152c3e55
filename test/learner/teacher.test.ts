import { expect } from 'chai'
import { Teacher } from '../../src/learner/teacher.js'
import type { Engine, Handle } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { ArbalestError } from '../../src/errors.js'
import { batchNorm2d, defineModel, embedding, flatten, linear } from '../../src/model/layers.js'
import { refused } from '../support/codes.js'

describe('a teacher', () => {
  it('answers token ids too', async () => {
    const model = defineModel({ name: 'tokens', input: [2], layers: [embedding(3, 1), linear(1, { bias: false })] })
    // The table's rows are 1, 10 and 100; the linear layer doubles them.
    const weights = Float32Array.of(1, 10, 100, 2)
    const teacher = await Teacher.create({ model, weights, batch: 2 }, { engine, backend: 'reference', threads: 1 })
    expect([...teacher.predict(Int32Array.of(0, 1, 2, 0))]).to.deep.equal([2, 20, 200, 2])
    teacher.release()
  })

  it('is refused without the statistics of its batch norms', async () => {
    const layers = [batchNorm2d({ name: 'norm' }), flatten(), linear(1, { name: 'sum', bias: false })]
    const model = defineModel({ name: 'norms', input: [1, 1, 2], layers })
    // Scale and shift of the batch norm, then the linear layer.
    const weights = Float32Array.of(1, 0, 1, 1)
    const place = { engine, backend: 'reference', threads: 1 } as const
    const mean = { 'norm.runningMean': Float32Array.of(1) }
    await refused('INVALID_OPTION', () => Teacher.create({ model, weights, batch: 1 }, place), 'statistics', 'give norm.runningMean')
    await refused(
      'INVALID_OPTION',
      () => Teacher.create({ model, weights, statistics: mean, batch: 1 }, place),
      'give norm.runningVariance'
    )
    const statistics = { ...mean, 'norm.runningVariance': Float32Array.of(4) }
    const teacher = await Teacher.create({ model, weights, statistics, batch: 1 }, place)
    expect(teacher.predict(Float32Array.of(3, 5))[0]).to.be.closeTo(3, 1e-4)
    teacher.release()
  })

  it('leaves nothing in the engine where it cannot be made', async () => {
    const held = new Set<Handle>()
    const own = (handle: Handle) => {
      held.add(handle)
      return handle
    }
    const counted: Engine = {
      ...engine,
      createReplica: (spec) => own(engine.createReplica(spec)),
      createProgram: (program) => own(engine.createProgram(program)),
      release: (handle) => {
        held.delete(handle)
        engine.release(handle)
      }
    }
    const model = defineModel({ name: 'norm', input: [1, 1, 2], layers: [batchNorm2d({ name: 'norm' }), flatten(), linear(1)] })
    const statistics = { 'norm.runningMean': Float32Array.of(1), 'norm.runningVariance': Float32Array.of(1, 2) }
    const place = { engine: counted, backend: 'reference', threads: 1 } as const
    await refused(
      'SHAPE_MISMATCH',
      () => Teacher.create({ model, weights: new Float32Array(5), statistics, batch: 1 }, place),
      'runningVariance'
    )
    const bind = (): never => {
      throw new ArbalestError('OUT_OF_MEMORY', 'memory: the machine has no more')
    }
    const sound = { ...statistics, 'norm.runningVariance': Float32Array.of(1) }
    const full = { ...place, engine: { ...counted, bind } }
    await refused(
      'OUT_OF_MEMORY',
      () => Teacher.create({ model, weights: new Float32Array(5), statistics: sound, batch: 1 }, full),
      'no more'
    )
    expect(held.size).to.equal(0)
  })
})
