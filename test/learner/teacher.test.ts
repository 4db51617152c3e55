import { expect } from 'chai'
import { Teacher, type TeacherSpec } from '../../src/learner/teacher.js'
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

  it('is told what it cannot take', async () => {
    const model = defineModel({ name: 'sum', input: [4], layers: [linear(1, { bias: false })] })
    const sound = { model, weights: new Float32Array(4), batch: 1 }
    const place = { engine, backend: 'reference', threads: 1 } as const
    for (const [spec, code, said] of [
      [undefined, 'INVALID_OPTION', 'teacher: received nothing'],
      [{ ...sound, weights: [1, 2, 3, 4] }, 'INVALID_OPTION', 'weights: received [1,2,3,4]; give a Float32Array'],
      [{ ...sound, statistics: null }, 'INVALID_OPTION', 'statistics: received null'],
      [{ ...sound, statistics: { mean: [1] } }, 'INVALID_OPTION', 'statistics.mean: received [1]'],
      [{ ...sound, precision: 'f16' }, 'UNKNOWN_NAME', 'precision: received "f16"; use one of bf16, f32']
    ] as const)
      await refused(code, () => Teacher.create(spec as unknown as TeacherSpec, place), said)
    const teacher = await Teacher.create(sound, place)
    await refused('INVALID_OPTION', () => teacher.predict([1, 2, 3, 4] as unknown as Float32Array), 'input: received [1,2,3,4]')
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
