import { expect } from 'chai'
import { batchNorm2d, defineModel, flatten, linear } from '../../src/model/layers.js'
import { loadModel } from '../../src/trained/load-model.js'
import { savedOf } from '../formats/support/saved-of.js'
import { refused } from '../support/codes.js'

describe('A model is loaded', () => {
  const saved = savedOf(defineModel({ name: 'two', input: [2], layers: [linear(2)] }))
  const loading = (options: object) => async () => loadModel(saved, options)

  it('with no precision but those in which training computes', async () => {
    for (const precision of ['bf17', 'f64', 'i32', 'u8', 1, null])
      await refused('UNKNOWN_NAME', loading({ precision }), `precision: received ${JSON.stringify(precision)}; use one of bf16, f32`)
  })

  it('from what is a whole model, and not from a part of one', async () => {
    for (const [part, value] of Object.entries({ weights: null, statistics: undefined, normalisation: {} }))
      await refused('INVALID_OPTION', () => loadModel({ ...saved, [part]: value }), part)
    await refused('INVALID_OPTION', () => loadModel({ ...saved, statistics: [null] } as never), 'tensor 0')
  })

  it('with a name for each of its classes, or with none', async () => {
    await loadModel({ ...saved, classNames: ['cat', 'dog'] })
    for (const classNames of [['cat'], ['cat', 'dog', 'emu']])
      await refused('INVALID_OPTION', () => loadModel({ ...saved, classNames }), 'classNames: received ["cat"', 'give 2 names')
  })

  it('with the statistics of its batch norms, without which it predicts nothing of sense', async () => {
    const normed = savedOf(defineModel({ name: 'normed', input: [1, 1, 2], layers: [batchNorm2d({ name: 'norm' }), flatten(), linear(2)] }))
    const { 'norm.runningVariance': _, ...mean } = normed.statistics
    await loadModel(normed)
    await refused('UNKNOWN_NAME', () => loadModel({ ...normed, statistics: {} }), 'norm.runningMean', 'running statistics')
    await refused('UNKNOWN_NAME', () => loadModel({ ...normed, statistics: mean }), 'norm.runningVariance')
  })

  it('and predicts from finite numbers only', async () => {
    const model = await loadModel(saved)
    expect(model.predict(Float32Array.of(1, 2))).to.have.lengthOf(2)
    for (const value of [NaN, Infinity, -Infinity])
      await refused('INVALID_OPTION', () => model.predict(Float32Array.of(1, 2, 3, value)), `samples[3]: received ${value}`, 'finite')
  })

  it('with no other number of threads than training takes', async () => {
    for (const threads of [0, -1.5, 1025, 'a', null])
      await refused(
        'INVALID_OPTION',
        loading({ threads }),
        `threads: received ${JSON.stringify(threads)}; use a whole number from 1 to 1024`
      )
  })
})
