import { expect } from 'chai'
import { Teacher } from '../../src/learner/teacher.js'
import { engine } from '../../src/engine/native.js'
import { defineModel, embedding, linear } from '../../src/model/layers.js'

describe('a teacher', () => {
  it('answers token ids too', async () => {
    const model = defineModel({ name: 'tokens', input: [2], layers: [embedding(3, 1), linear(1, { bias: false })] })
    // The table's rows are 1, 10 and 100; the linear layer doubles them.
    const weights = Float32Array.of(1, 10, 100, 2)
    const teacher = await Teacher.create({ model, weights, batch: 2 }, { engine, backend: 'reference', threads: 1 })
    expect([...teacher.predict(Int32Array.of(0, 1, 2, 0))]).to.deep.equal([2, 20, 200, 2])
    teacher.release()
  })
})
