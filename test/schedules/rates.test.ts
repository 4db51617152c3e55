import { expect } from 'chai'
import { learningRateAt, learningRatePieces, type RunClock } from '../../src/schedules/pieces.js'
import { curveOf } from '../../src/schedules/curves.js'
import { scheduleOf } from '../../src/run/schedule.js'
import { runSettings } from '../../src/run/run-settings.js'
import { defaultsFor, learningRateFor } from '../../src/options/defaults.js'
import { settingsOf } from '../../src/options/settings.js'
import {
  constant,
  cosine,
  exponential,
  inverse,
  multistep,
  oneCycle,
  step,
  warmup,
  type OptimiserOptions,
  type Duration,
  type LearningRateSchedule
} from '../../src/index.js'
import { thrown } from '../support/thrown.js'

/** Ten epochs of ten iterations each, every iteration a round. */
const RUN: RunClock = {
  iterations: 100,
  progress: (iteration) => ({ iteration, epoch: iteration / 10, fraction: iteration / 100 }),
  iterationAfter: (span: Duration) => {
    if (typeof span === 'number') return Math.ceil(span * 10)
    return Math.ceil('epochs' in span ? span.epochs * 10 : 'iterations' in span ? span.iterations : span.fraction * 100)
  }
}

const ratesOf = (schedule: LearningRateSchedule, at: readonly number[]): number[] => {
  const { pieces } = learningRatePieces(curveOf(schedule), RUN)
  return at.map((iteration) => Number(learningRateAt(pieces, iteration).toPrecision(6)))
}

describe('learning rates', () => {
  it('stay, or drop at points', () => {
    expect(ratesOf(constant({ learningRate: 0.3 }), [0, 99, 1e9])).to.deep.equal([0.3, 0.3, 0.3])
    expect(ratesOf(step({ learningRate: 1, period: 3 }), [0, 29, 30, 59, 60, 99])).to.deep.equal([1, 1, 0.1, 0.1, 0.01, 0.001])
    expect(ratesOf(step({ learningRate: 1, period: { iterations: 40 }, gamma: 0.5 }), [39, 40, 80])).to.deep.equal([1, 0.5, 0.25])
    const milestones = multistep({ learningRate: 1, milestones: [{ fraction: 0.5 }, { fraction: 0.8 }], gamma: 0.2 })
    expect(ratesOf(milestones, [49, 50, 79, 80])).to.deep.equal([1, 0.2, 0.2, 0.04])
  })

  it('follow their formulas smoothly', () => {
    expect(ratesOf(exponential({ learningRate: 1, gamma: 0.5 }), [0, 10, 20])).to.deep.equal([1, 0.5, 0.25])
    // Caffe's LeNet at iterations 0, 1 and 99.
    const caffe = inverse({ learningRate: 0.01, gamma: 1e-4, power: 0.75, period: { iterations: 1 } })
    expect(ratesOf(caffe, [0, 1, 99])).to.deep.equal([0.01, 0.00999925, 0.00992639])
    expect(ratesOf(inverse({ learningRate: 1 }), [10, 30])).to.deep.equal([0.5, 0.25])
    expect(ratesOf(cosine({ learningRate: 1 }), [0, 25, 50, 75, 100])).to.deep.equal([1, 0.853553, 0.5, 0.146447, 0])
    expect(ratesOf(cosine({ learningRate: 1, finalLearningRate: 0.2 }), [50, 100])).to.deep.equal([0.6, 0.2])
    expect(ratesOf(oneCycle({ learningRate: 1 }), [0, 15, 30, 65, 100])).to.deep.equal([0.04, 0.52, 1, 0.500002, 0.000004])
  })

  it('warm up before any of them, which keep their places', () => {
    expect(ratesOf(warmup(2, constant({ learningRate: 1 })), [0, 5, 10, 20, 99])).to.deep.equal([0, 0.25, 0.5, 1, 1])
    expect(
      ratesOf(warmup({ iterations: 10 }, multistep({ learningRate: 1, milestones: [2] }), { startFactor: 0.5 }), [0, 5, 10, 19, 20])
    ).to.deep.equal([0.5, 0.75, 1, 1, 0.1])
    expect(ratesOf(warmup({ fraction: 0.5 }, cosine({ learningRate: 1 })), [25, 50, 75])).to.deep.equal([0.426777, 0.5, 0.146447])
    expect(ratesOf(warmup(1, step({ learningRate: 1, period: 2 }), { startFactor: 1e-36 }), [0, 99])).to.deep.equal([1e-36, 1e-4])
    // A drop while it warms up.
    expect(ratesOf(warmup(4, multistep({ learningRate: 1, milestones: [2] })), [10, 19, 20, 39, 40])).to.deep.equal([
      0.25, 0.475, 0.05, 0.0975, 0.1
    ])
    // Within one another, whatever they are counted in: the factors multiply, and the longer one is followed to its end.
    for (const nested of [
      warmup(4, warmup({ iterations: 10 }, constant({ learningRate: 1 }))),
      warmup({ fraction: 0.1 }, warmup(4, constant({ learningRate: 1 })))
    ])
      expect(ratesOf(nested, [5, 10, 20, 40, 99])).to.deep.equal([0.0625, 0.25, 0.5, 1, 1])
  })

  it('restart the learners at drops and nowhere else', () => {
    const dropsOf = (schedule: LearningRateSchedule): number[] => learningRatePieces(curveOf(schedule), RUN).drops
    expect(dropsOf(step({ learningRate: 1, period: 3 }))).to.deep.equal([30, 60, 90])
    expect(dropsOf(warmup(1, multistep({ learningRate: 1, milestones: [0.05, 0.06, 5, 20] })))).to.deep.equal([1, 50])
    expect(dropsOf(cosine({ learningRate: 1 }))).to.deep.equal([])
    // A factor of 1 is no drop, however often it comes.
    expect(dropsOf(step({ learningRate: 1, period: 1e-9, gamma: 1 }))).to.deep.equal([])
  })

  it('take no more room than they need', () => {
    const sizes = (schedule: LearningRateSchedule): number[] =>
      learningRatePieces(curveOf(schedule), RUN).pieces.map(({ rates }) => rates.length)
    expect(sizes(multistep({ learningRate: 1, milestones: [2, 4] }))).to.deep.equal([1, 1, 1])
    expect(sizes(warmup(1, multistep({ learningRate: 1, milestones: [2] })))).to.deep.equal([11, 1])
    expect(sizes(cosine({ learningRate: 1 }))).to.deep.equal([101])
  })
})

describe('the rate of a run', () => {
  const run = (optimiser: OptimiserOptions, model = 'vgg16') =>
    scheduleOf(runSettings(settingsOf({ model, learners: 1, batch: 10, until: { epochs: 10 }, optimiser }), 100), 100)
  const at = (optimiser: OptimiserOptions, iterations: readonly number[]): number[] =>
    iterations.map((iteration) => Number(learningRateAt(run(optimiser).learningRates, iteration).toPrecision(6)))

  it('is a number with a name and a warm-up, or a schedule', () => {
    expect(at({ learningRate: 1, schedule: 'cosine' }, [0, 50])).to.deep.equal([1, 0.5])
    expect(at({ learningRate: 1, schedule: 'cosine', warmup: 2 }, [0, 10])).to.deep.equal([0, 0.487764])
    expect(at({ learningRate: 1, schedule: 'cosine', warmup: 0 }, [0, 50])).to.deep.equal([1, 0.5])
    expect(at({ learningRate: 1, schedule: 'step' }, [0, 40, 99])).to.deep.equal([1, 0.1, 0.01])
    expect(at({ learningRate: 1, schedule: 'exponential' }, [0, 50])).to.deep.equal([1, 0.1])
    expect(at({ learningRate: cosine({ learningRate: 1 }), warmup: { iterations: 10 } }, [5])).to.deep.equal([0.496922])
    // Without any of it: the model's own milestones.
    expect(at({ learningRate: 1 }, [49, 50, 80])).to.deep.equal([1, 0.1, 0.01])
    expect(run({ learningRate: 1 }).restarts).to.deep.equal([50, 80])
    expect(run({ learningRate: 1, schedule: 'one-cycle' }).restarts).to.deep.equal([])
  })

  it('rises and falls once by default where that suits the model, and drops where anything is said of drops', () => {
    const rates = (optimiser: OptimiserOptions) =>
      [0, 30, 60, 99].map((iteration) => learningRateAt(run(optimiser, 'resnet20').learningRates, iteration))
    const usual = learningRateFor(defaultsFor('resnet20'), 10)
    expect(rates({})).to.deep.equal(rates({ learningRate: oneCycle({ learningRate: usual }) }))
    expect(rates({ learningRate: 1 })).to.deep.equal(rates({ learningRate: oneCycle({ learningRate: 1 }) }))
    expect(rates({ name: 'adam' })).to.deep.equal(rates({ learningRate: oneCycle({ learningRate: 0.001 }) }))
    const drops = (points: readonly number[], decay: number) =>
      rates({ learningRate: multistep({ learningRate: usual, milestones: points, gamma: decay }) })
    expect(rates({ schedule: 'multistep' })).to.deep.equal(drops([5, 8], 0.1))
    expect(rates({ milestones: [4] })).to.deep.equal(drops([4], 0.1))
    expect(rates({ gamma: 0.5 })).to.deep.equal(drops([5, 8], 0.5))
  })

  it('is refused with the path of what is wrong', () => {
    const endless: Record<string, unknown> = { kind: 'warmup', duration: 1 }
    endless['schedule'] = endless
    const wrong: [string, OptimiserOptions][] = [
      ['optimiser.learningRate', { learningRate: { kind: 'linear', learningRate: 1 } as unknown as LearningRateSchedule }],
      ['optimiser.learningRate', { learningRate: 0 }],
      ['optimiser.learningRate', { learningRate: endless as unknown as LearningRateSchedule }],
      ['optimiser.learningRate.learningRate', { learningRate: cosine({ learningRate: -1 }) }],
      [
        'optimiser.learningRate.schedule.finalLearningRate',
        { learningRate: warmup(1, cosine({ learningRate: 1, finalLearningRate: -1 })) }
      ],
      ['optimiser.learningRate.duration', { learningRate: warmup(0, cosine({ learningRate: 1 })) }],
      ['optimiser.learningRate.milestones', { learningRate: multistep({ learningRate: 1, milestones: [3, 2] }) }],
      ['optimiser.learningRate.milestones', { learningRate: multistep({ learningRate: 1, milestones: [3, { fraction: 0.5 }] }) }],
      ['optimiser.learningRate.period', { learningRate: step({ learningRate: 1, period: { fraction: 0 } }) }],
      ['optimiser.learningRate.period', { learningRate: step({ learningRate: 1, period: { fraction: 1.5 } }) }],
      ['optimiser.learningRate.duration', { learningRate: warmup({ fraction: 5 }, cosine({ learningRate: 1 })) }],
      ['optimiser.learningRate.period', { learningRate: step({ learningRate: 1, period: { epochs: '5' as never } }) }],
      ['optimiser.warmup', { warmup: { iterations: ['5'] as never } }],
      ['optimiser.warmup', { warmup: { fraction: 5 } }],
      [
        'optimiser.learningRate.milestones[1]',
        { learningRate: multistep({ learningRate: 1, milestones: [{ fraction: 0.5 }, { fraction: 80 }] }) }
      ],
      ['optimiser.learningRate.period', { learningRate: { kind: 'step', learningRate: 1 } as unknown as LearningRateSchedule }],
      ['optimiser.learningRate.gamma', { learningRate: exponential({ learningRate: 1, gamma: 2 }) }],
      ['optimiser.learningRate.risingFraction', { learningRate: oneCycle({ learningRate: 1, risingFraction: 1 }) }],
      ['optimiser.learningRate.lats', { learningRate: { kind: 'cosine', learningRate: 1, lats: 0 } as unknown as LearningRateSchedule }],
      ['optimiser.schedule', { schedule: 'sine' as 'cosine' }],
      ['optimiser.schedule', { learningRate: cosine({ learningRate: 1 }), schedule: 'step' }],
      ['optimiser.milestones', { schedule: 'cosine', milestones: [3] }],
      ['optimiser.gamma', { schedule: 'cosine', gamma: 0.5 }],
      ['optimiser.warmup', { warmup: -1 }]
    ]
    for (const [path, optimiser] of wrong) expect(thrown(() => run(optimiser)).data.parameter, path).to.equal(path)
  })

  it('may not vary for more iterations than can be kept', () => {
    const settings = settingsOf({ model: 'mlp', until: { epochs: 1e9 }, optimiser: { schedule: 'cosine' } })
    const longWarmup = { model: 'mlp', until: { epochs: 1e9 }, optimiser: { schedule: 'constant', warmup: 1e8 } } as const
    const endless = () => scheduleOf(runSettings(settings, 1000), 1000)
    expect(thrown(endless).data.parameter).to.equal('until.epochs')
    expect(thrown(() => scheduleOf(runSettings(settingsOf(longWarmup), 1000), 1000)).message).to.match(/^until\.epochs: .*shorter warm-up/)
  })

  it('may not drop more often than can be kept', () => {
    const drops = (every: number) =>
      thrown(() =>
        scheduleOf(
          runSettings(
            settingsOf({ model: 'mlp', optimiser: { learningRate: step({ learningRate: 1, period: every, gamma: 0.9999 }) } }),
            1000
          ),
          1000
        )
      )
    expect(drops(1e-9).message).to.match(/^optimiser\.learningRate: .*65536 drops.*use a longer period/)
  })
})
