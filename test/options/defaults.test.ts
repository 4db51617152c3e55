import { expect } from 'chai'
import { hasStates } from '../../src/compiler/optimiser.js'
import { fileURLToPath } from 'node:url'
import { defaultsFor } from '../../src/options/defaults.js'
import { learningRateAt } from '../../src/schedules/pieces.js'
import { scheduleOf } from '../../src/run/schedule.js'
import { runSettings } from '../../src/run/run-settings.js'
import { settingsOf } from '../../src/options/settings.js'
import { defineModel, linear, resnet, type TrainOptions } from '../../src/index.js'
import { thrown } from '../support/thrown.js'

/** A folder without texts. */
const FOLDER = fileURLToPath(new URL('.', import.meta.url))

describe('defaults', () => {
  it('are those of the zoo’s model, by its name, also where it was made by its function', () => {
    expect(defaultsFor('resnet50').epochs).to.equal(90)
    const own = resnet({ input: [3, 32, 32], classes: 10 }, { depth: 26 })
    expect(settingsOf({ model: own }).until.epochs).to.equal(defaultsFor('resnet20').epochs)
  })

  it('of the size of images suit the model', () => {
    const sizeFor = (model: NonNullable<TrainOptions['model']>, images: TrainOptions['images'] = {}) =>
      settingsOf({ model, data: FOLDER, images }).images.size
    expect(['mlp', 'lenet', 'resnet20', 'vgg16', 'resnet50'].map((model) => sizeFor(model))).to.deep.equal([28, 28, 32, 32, 224])
    expect(sizeFor(resnet({ input: [3, 48, 48], classes: 5 }))).to.equal(48)
    expect(sizeFor('mlp', { size: 64 })).to.equal(64)
    expect(sizeFor('gpt')).to.equal(undefined)
    // The rest of the options is checked against that size.
    expect(settingsOf({ model: 'mlp', data: FOLDER, images: { resize: 32 } }).images).to.include({ size: 28, resize: 32 })
  })

  it('have a lower rate for smaller batches', () => {
    const rateOf = (options: Partial<TrainOptions>) => settingsOf({ model: 'lenet', ...options }).optimiser.learningRate
    const { learningRate: usual, batch } = defaultsFor('lenet')
    const rates = (options: Partial<TrainOptions>) => (rateOf(options) as { learningRate: number }).learningRate / usual
    expect([1, 2, 0.5, 0.25].map((share) => rates({ batch: share * batch }))).to.deep.equal([1, 1, 0.5, 0.25])
    // What is accumulated is one step's.
    expect(rates({ batch: batch / 4, optimiser: { accumulate: 2 } })).to.equal(0.5)
    expect(rates({ batch: batch / 4, optimiser: { accumulate: 8 } })).to.equal(1)
    // Who says which has it, and Adam's steps do not depend on the size of the gradient.
    expect(rates({ batch: 1, optimiser: { learningRate: 8 * usual } })).to.equal(8)
    expect(rates({ batch: 1, optimiser: 'adam' }) * usual).to.equal(0.001)
  })

  it("of rmsprop are PyTorch's, but for the rate", () => {
    const { learningRate, update } = settingsOf({ model: 'mlp', optimiser: 'rmsprop' }).optimiser
    expect(learningRate).to.include({ learningRate: 0.001 })
    expect(update).to.deep.equal({ name: 'rmsprop', beta2: 0.99, epsilon: 1e-8, momentum: 0, weightDecay: 0 })
    expect(hasStates(update)).to.equal(true)
    const given = { beta2: 0.8, epsilon: 0.1, momentum: 0.5, weightDecay: 0.01 }
    expect(settingsOf({ model: 'mlp', optimiser: { name: 'rmsprop', ...given } }).optimiser.update).to.deep.equal({
      name: 'rmsprop',
      ...given
    })
  })

  it('share the rate among the learners that train, where the updates of all are added up', () => {
    const schedule = [
      { round: 0, learners: 2 },
      { round: 5, learners: 4 },
      { round: 9, learners: 1 }
    ]
    const ratesOf = (options: Partial<TrainOptions>) => {
      const given = { model: 'lenet', learners: { schedule }, until: { steps: 20 }, ...options } as TrainOptions
      const { learningRates: rates } = scheduleOf(runSettings(settingsOf(given), 640), 640)
      return [0, 4, 5, 8, 9, 14, 15, 19].map((iteration) => Number(learningRateAt(rates, iteration).toPrecision(6)))
    }
    const usual = ratesOf({})
    expect(usual).to.deep.equal([0.02, 0.02, 0.02, 0.02, 0.02, 0.02, 0.002, 0.002])
    const learners = [2, 2, 4, 4, 1, 1, 1, 1]
    const shared = usual.map((rate, i) => rate / learners[i]!)
    for (const name of ['downpour', 'hogwild'] as const) expect(ratesOf({ synchroniser: { name, period: 1 } }), name).to.deep.equal(shared)
    expect(ratesOf({ synchroniser: 'ssgd' })).to.deep.equal(usual)
    // Rates that vary are shared one by one, and one that was given is each learner's.
    const [smooth, whole] = [{ schedule: 'cosine' } as const, { schedule: 'cosine', learningRate: 0.02 } as const]
    const cosine = ratesOf({ optimiser: whole })
    expect(new Set(cosine).size).to.equal(8)
    expect(ratesOf({ synchroniser: { name: 'hogwild', period: 1 }, optimiser: whole })).to.deep.equal(cosine)
    ratesOf({ synchroniser: { name: 'hogwild', period: 1 }, optimiser: smooth }).forEach((rate, i) =>
      expect(rate).to.be.closeTo(cosine[i]! / learners[i]!, 1e-7)
    )
    expect(ratesOf({ synchroniser: { name: 'hogwild', period: 1 }, optimiser: 'adam' })[2]).to.equal(0.00025)
  })

  it('drop the rate where a run has no end but a time: once up and down would never come down', () => {
    const kindOf = (until: TrainOptions['until']) => settingsOf({ model: 'resnet20', until: until! }).optimiser.learningRate.kind
    expect(kindOf({ seconds: 60 })).to.equal('multistep')
    expect([{}, { epochs: 3 }, { steps: 3 }, { seconds: 60, epochs: 3 }, { seconds: 60, steps: 3 }].map(kindOf)).to.deep.equal(
      Array(5).fill('one-cycle')
    )
    const { learningRate: rate } = settingsOf({ model: 'resnet20', until: { seconds: 60 }, optimiser: { schedule: 'one-cycle' } }).optimiser
    expect(rate.kind).to.equal('one-cycle')
    // What is wrong altogether is told as such.
    expect(thrown(() => kindOf('soon' as unknown as undefined)).data.parameter).to.equal('until')
  })

  it('are of no use where the data are none', () => {
    const samples = { count: 1 }
    for (const data of [
      {},
      { name: 'x', sample: [1], classes: 2, train: samples },
      { name: 'x', sample: 1, classes: 2, train: samples, test: samples }
    ])
      expect(thrown(() => settingsOf({ model: 'mlp', data: data as never })).data.parameter).to.equal('data')
  })

  it('are a small network’s under any other name', () => {
    for (const name of ['resnet9', 'resnet2', 'resnet', 'resnet20d', 'own', 'constructor']) {
      const { batch, until } = settingsOf({ model: defineModel({ name, input: [4], layers: [linear(2)] }) })
      expect({ batch, epochs: until.epochs }, name).to.deep.equal({ batch: 16, epochs: 4 })
    }
  })
})
