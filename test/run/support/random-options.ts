import fc from 'fast-check'
import type { AverageOptions } from '../../../src/options/average.js'
import type { SynchroniserOptions } from '../../../src/options/synchroniser.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { batchNorm2d, conv2d, defineModel, dropout, flatten, linear, relu } from '../../../src/model/layers.js'

const NORMALISED = defineModel({
  name: 'normalised',
  input: [1, 28, 28],
  layers: [conv2d(3, 5, { stride: 3 }), batchNorm2d(), relu(), flatten(), dropout(0.3), linear(10)]
})

const period = fc.integer({ min: 1, max: 4 })
const synchronisers = fc.oneof<fc.Arbitrary<SynchroniserOptions>[]>(
  fc.record({ name: fc.constant('sma'), period, syncMomentum: fc.constantFrom(0, 0.2) }),
  fc.record({ name: fc.constant('sma'), period, lockstep: fc.constant(true) }),
  fc.record({ name: fc.constantFrom('local-sgd', 'lookahead', 'slowmo', 'diloco'), period }),
  fc.record({ name: fc.constant('post-local-sgd'), period, startEpoch: fc.constant(0.1) }),
  fc.record({ name: fc.constant('parameter-server'), slack: fc.integer({ min: 0, max: 2 }) }),
  fc.record({ name: fc.constantFrom('ssgd', 'polyak-ruppert') })
)
const averages = fc.constantFrom<AverageOptions | undefined>(
  undefined,
  { name: 'ema' },
  { name: 'lawa', window: 3, period: 0.2 },
  { name: 'swa', period: 0.3 }
)

/** Options of nearly all kinds of runs on digits that can be repeated bit for bit. */
export const randomOptions: fc.Arbitrary<Partial<TrainOptions>> = fc
  .record({
    synchroniser: synchronisers,
    model: fc.constantFrom('logistic-regression', 'mlp', NORMALISED),
    learners: fc.integer({ min: 2, max: 3 }),
    batch: fc.constantFrom(1, 4, 8),
    optimiser: fc.constantFrom({}, { name: 'adam' as const }, { name: 'rmsprop' as const }, { accumulate: 2 }, { clipNorm: 1 }),
    average: averages,
    where: fc.constantFrom<Partial<TrainOptions>>(
      {},
      { devices: 2 },
      { backend: 'reference' },
      { precision: 'bf16', backend: 'reference' }
    ),
    evaluateEvery: fc.constantFrom(1e9, 1, 0.3),
    seed: fc.nat(100)
  })
  .map(({ where, optimiser, average, ...options }) => ({
    ...options,
    ...(average && { average }),
    optimiser: { learningRate: 0.02, milestones: [], ...optimiser },
    // The learners of a lockstep are on one device.
    ...('lockstep' in options.synchroniser ? {} : where)
  }))
