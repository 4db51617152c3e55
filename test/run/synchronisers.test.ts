import { expect } from 'chai'
import type { Dataset } from '../../src/data/dataset.js'
import { openDataset } from '../../src/data/open.js'
import { modelNamed, ruleNames, train, type TrainOptions } from '../../src/index.js'
import { predictionGraph } from '../../src/model/graph-builder.js'
import { initialParameters } from '../../src/model/initialise.js'
import { largestDifference } from '../engine/support/small-training.js'
import { faultsOf } from '../../src/errors.js'
import { thrown } from '../support/thrown.js'
import { killedJob } from './support/killed-job.js'
import { ifSeldom } from '../support/seldom.js'

const OWN = new URL('../../examples/synchroniser/part-way.js', import.meta.url)

describe('training under every rule', () => {
  let data: Dataset
  before(async () => (data = await openDataset('digits', { samples: 2000 })))

  const job = (options: Partial<TrainOptions>) =>
    train({ model: 'mlp', data, learners: 2, batch: 16, until: { steps: 150 }, seed: 1, ...options })

  for (const name of ruleNames)
    it(`${name} learns`, async () => {
      const options = name === 'diloco' ? { name, period: 10 } : { name }
      const { testAccuracy, iterations, reason } = await job({ synchroniser: options, optimiser: { learningRate: 0.02, milestones: [] } })
        .finished
      expect([iterations, reason]).to.deep.equal([150, 'completed'])
      expect(testAccuracy).above(0.5)
    })

  for (const optimiser of ['adam', 'adamw', 'rmsprop', 'lars'] as const)
    it(`${optimiser} learns, by its usual rate`, async () => {
      const { testAccuracy } = await job({ optimiser }).finished
      expect(testAccuracy).above(0.5)
    })

  it('gradients that are clipped and accumulated learn, and count their samples', async () => {
    const optimiser = { accumulate: 2, clipNorm: 1, clipValue: 0.5, learningRate: 0.05 }
    const { testAccuracy, epochs, iterations } = await job({ optimiser, until: { epochs: 4 }, synchroniser: 'ssgd' }).finished
    expect([epochs, iterations]).to.deep.equal([4, 125])
    expect(testAccuracy).above(0.5)
  })

  it('eamsgd wants an optimiser with Nesterov’s momentum: without it it would be easgd', () => {
    for (const [optimiser, path] of [
      ['adam', 'optimiser.name'],
      [{ name: 'adamw' }, 'optimiser.name'],
      ['rmsprop', 'optimiser.name'],
      [{ nesterov: false }, 'optimiser.nesterov'],
      [{ momentum: 0 }, 'optimiser.momentum']
    ] as const) {
      const error = thrown(() => job({ synchroniser: { name: 'eamsgd' }, optimiser }))
      expect(error).to.include({ code: 'INVALID_OPTION' })
      expect(error).to.have.property('message').that.includes(path).and.includes('easgd')
    }
    // One fault is told once, and by what was given.
    const both = thrown(() => job({ synchroniser: { name: 'eamsgd' }, optimiser: { name: 'adam', nesterov: false } }))
    const told = faultsOf(both).map(({ path }) => path)
    expect(told.sort()).to.deep.equal(['optimiser.name', 'optimiser.nesterov'])
  })

  it('learners under ssgd are one learner on the joined batch', async () => {
    const optimiser = { learningRate: 0.02, weightDecay: 1e-3, milestones: [] }
    const trained = async (learners: number) => {
      // Without pooling, whose choice between pixels that are nearly equal would be one of rounding.
      const one = job({ model: 'mlp', learners, batch: 60 / learners, synchroniser: 'ssgd', optimiser, until: { steps: 20 } })
      await one.finished
      return Object.values(await one.model.weights()).flatMap((tensor) => [...tensor.data])
    }
    const alone = await trained(1)
    expect(alone.length).above(0)
    for (const learners of [2, 3, 5]) expect(largestDifference(await trained(learners), alone), `${learners} learners`).below(1e-5)
  })

  it('an average is what is measured and what one gets', async () => {
    const weights = async (average?: TrainOptions['average']) => {
      const one = job({ until: { epochs: 2 }, ...(average && { average }) })
      const { testLoss, weightsSha256 } = await one.finished
      return { testLoss, weightsSha256, weights: await one.model.weights() }
    }
    const [plain, ema, swa] = [await weights(), await weights('ema'), await weights({ name: 'swa', startEpoch: 1, period: 0.1 })]
    expect(new Set([plain, ema, swa].map(({ weightsSha256 }) => weightsSha256)).size).to.equal(3)
    expect(swa.testLoss).below(2)
  })

  it('learners in lockstep come to the same weights, bit for bit, whatever the round and however many there are', async () => {
    for (const [learners, period] of [
      [1, 1],
      [3, 1],
      [2, 4]
    ] as const) {
      const [together, apart] = await Promise.all(
        [true, false].map(async (lockstep) => {
          const { weightsSha256 } = await job({ learners, synchroniser: { name: 'sma', period, lockstep } }).finished
          return weightsSha256
        })
      )
      expect(together).to.equal(apart)
    }
  })

  it('downpour that is stopped ends with all that its learners have not pushed', async () => {
    const synchroniser = { name: 'downpour', pushPeriod: 10_000, fetchPeriod: 10_000 } as const
    const stopped = job({ synchroniser, until: { epochs: 1000 }, logEvery: 20 })
    stopped.once('progress', () => stopped.stop())
    expect(await stopped.finished).to.include({ reason: 'stopped' })
    const weights = Object.values(await stopped.model.weights()).flatMap(({ data: values }) => [...values])
    const initial = initialParameters(predictionGraph(modelNamed('mlp', { input: [1, 28, 28], classes: 10 })), 1)
    expect(largestDifference(weights, initial)).above(1e-3)
  })

  // Without a bound a learner that starts first takes all of a short run's iterations before the other one reaches its death.
  const mortal = [
    { synchroniser: { name: 'downpour' }, steps: 5000 },
    ...ifSeldom({ synchroniser: { name: 'downpour', slack: 1 }, steps: 150 } as const),
    { synchroniser: { name: 'hogwild', bound: 'bsp' }, steps: 150 },
    { synchroniser: { name: 'sma', lockstep: true }, steps: 150 },
    { synchroniser: 'ssgd', steps: 150 }
  ] as const
  for (const { synchroniser, steps } of mortal)
    it(`${JSON.stringify(synchroniser)} goes on to the end when learners die`, async () => {
      for (const how of ['throw' as const, ...(synchroniser === 'ssgd' ? ['poll' as const] : ifSeldom('poll' as const))]) {
        const { finished, lost } = await killedJob(data, { how, victim: 1, after: 20 }, { synchroniser, until: { steps } })
        expect(finished).to.include({ iterations: steps, reason: 'completed' })
        expect(lost.map(({ learner, replacedBy }) => [learner, replacedBy])).to.deep.equal([[1, 2]])
      }
    })

  it('a rule of one’s own is taken from its module', async () => {
    const { testAccuracy } = await job({ synchroniser: { module: OWN, options: { period: 3 } } }).finished
    expect(testAccuracy).above(0.5)
  })
})
