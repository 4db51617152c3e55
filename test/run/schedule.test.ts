import { expect } from 'chai'
import fc from 'fast-check'
import { learningRateAt } from '../../src/schedules/pieces.js'
import { scheduleOf, type Schedule } from '../../src/run/schedule.js'
import { loadRunSettings, runSettings } from '../../src/run/run-settings.js'
import { settingsOf } from '../../src/options/settings.js'
import type { TrainOptions } from '../../src/options/train-options.js'
import type { Intervention } from '../../src/schedules/interventions.js'
import { refused } from '../support/codes.js'

/** The rounds before which a run is measured. */
function measurements(run: Schedule): number[] {
  const rounds: number[] = []
  for (let round = 0; round < run.rounds; rounds.push(round)) round = run.measuredAfter(round)
  return rounds
}

function schedule(options: Partial<TrainOptions>, samples: number): Schedule {
  const settings = settingsOf({ model: 'mlp', learners: 2, batch: 5, optimiser: { milestones: [] }, ...options })
  return scheduleOf(runSettings(settings, samples), samples)
}

describe('a run’s schedule', () => {
  it('takes as many iterations as the epochs need, the last one begun', () => {
    expect(schedule({ until: { epochs: 3 } }, 100).iterations).to.equal(30)
    expect(schedule({ until: { epochs: 3 } }, 101).iterations).to.equal(31)
    expect(schedule({ until: { epochs: 0.5 } }, 100).iterations).to.equal(5)
    expect(schedule({ until: { steps: 7 } }, 100).iterations).to.equal(7)
    expect(schedule({ until: { steps: 7, epochs: 0.5 } }, 100).iterations).to.equal(5)
  })

  it('measures before the first round that begins after an epoch’s end, and at the end', () => {
    expect(measurements(schedule({ until: { epochs: 3 } }, 100))).to.deep.equal([10, 20, 30])
    expect(measurements(schedule({ until: { epochs: 2.5 } }, 101))).to.deep.equal([11, 21, 26])
    expect(measurements(schedule({ until: { epochs: 3 }, synchroniser: { period: 4 } }, 100))).to.deep.equal([3, 5, 8])
    expect(measurements(schedule({ until: { steps: 2 } }, 100))).to.deep.equal([2])
    // An epoch that is shorter than a round is not measured twice.
    expect(measurements(schedule({ until: { epochs: 4 }, synchroniser: { period: 2 } }, 10))).to.deep.equal([1, 2])
  })

  it('measures as often as is asked for, and never twice in one round', () => {
    const every = (evaluateEvery: number, rest: Partial<TrainOptions> = {}, samples = 1000) =>
      measurements(schedule({ until: { epochs: 1 }, evaluateEvery, ...rest }, samples))
    expect(every(0.25)).to.deep.equal([25, 50, 75, 100])
    expect(every(0.1)).to.deep.equal([10, 20, 30, 40, 50, 60, 70, 80, 90, 100])
    expect(every(0.3)).to.deep.equal([30, 60, 90, 100])
    expect(every(2, { until: { epochs: 5 } })).to.deep.equal([200, 400, 500])
    // 40 samples a round are more than are asked for between two measurements.
    expect(every(0.1, { synchroniser: { period: 4 } }, 100)).to.deep.equal([1, 2, 3])
  })

  it('drops the rate where the learners start anew: at rounds', () => {
    const { restarts, learningRates: rates } = schedule(
      { until: { epochs: 3 }, optimiser: { learningRate: 1, gamma: 0.5, milestones: [1, 1.25, 7] }, synchroniser: { period: 4 } },
      100
    )
    expect(restarts).to.deep.equal([3, 4])
    expect([0, 11, 12, 15, 16, 29].map((iteration) => learningRateAt(rates, iteration))).to.deep.equal([1, 1, 0.5, 0.5, 0.25, 0.25])
  })

  it('gives each learner the rate that a program has set, also where learners share the rate of the options', () => {
    const settings = runSettings(settingsOf({ model: 'mlp', learners: 2, batch: 5, synchroniser: 'hogwild' }), 100)
    const shared = (changes: readonly Intervention[]) => scheduleOf(settings, 100, undefined, changes).learningRates
    const rate = shared([])[0]!.rates[0]!
    const set = { kind: 'set', round: 8, iteration: 8 } as const
    expect([7, 8].map((iteration) => learningRateAt(shared([{ ...set, learningRate: 0.25 }]), iteration))).to.deep.equal([rate, 0.25])
    expect(learningRateAt(shared([{ ...set, learningRate: { factor: 0.5 } }]), 8)).to.equal(rate / 2)
    // Factors multiply, also of a rate that was set.
    const half = { ...set, learningRate: { factor: 0.5 } }
    expect(learningRateAt(shared([half, half]), 8)).to.equal(rate / 4)
    expect(learningRateAt(shared([{ ...set, learningRate: 0.25 }, half]), 8)).to.equal(0.125)
  })

  it('follows a period that begins later', () => {
    const synchroniser = { name: 'post-local-sgd', period: 4, startEpoch: 1 } as const
    const {
      rounds,
      restarts,
      learningRates: rates
    } = schedule({ until: { epochs: 3 }, optimiser: { learningRate: 1, gamma: 0.5, milestones: [0.5, 1.25] }, synchroniser }, 100)
    // Ten rounds of one iteration, then five of four.
    expect([rounds, restarts]).to.deep.equal([15, []])
    expect([4, 5, 13, 14].map((iteration) => learningRateAt(rates, iteration))).to.deep.equal([1, 0.5, 0.5, 0.25])
  })

  it('takes any epoch for the beginning of a longer period, also one that no run reaches', () => {
    for (const startEpoch of [7, 1e15, 1e300, Number.MAX_VALUE]) {
      const { rounds, iterationOf } = schedule(
        { until: { epochs: 3 }, synchroniser: { name: 'post-local-sgd', period: 4, startEpoch } },
        100
      )
      expect([rounds, iterationOf(rounds)], String(startEpoch)).to.deep.equal([30, 30])
      const settings = settingsOf({ model: 'mlp', learners: 2, batch: 5, synchroniser: { name: 'polyak-ruppert', startEpoch } })
      const { rule } = runSettings(settings, 100)
      expect(Number.isSafeInteger(rule.kind === 'synchronous' && rule.central.kind === 'mean' && rule.central.from)).to.equal(true)
    }
  })

  it('has the same rule of the user’s own where it repeats a tuned run, whose later numbers of learners that run did not know', async () => {
    const source =
      'export default ({ alpha }, { learners }) => ({ ...{ kind: "synchronous", adopts: false, period: learners, from: 0 }, central: { kind: "sma", alpha, momentum: 0 } })'
    const module = new URL(`data:text/javascript,${encodeURIComponent(source)}`)
    const rule = async (learners: NonNullable<TrainOptions['learners']>, alpha: number | null = null) =>
      (await loadRunSettings(settingsOf({ model: 'mlp', learners, synchroniser: { module, options: { alpha } } }), 100)).rule
    const later = [
      { round: 0, learners: 2 },
      { round: 9, learners: 5 }
    ]
    expect(await rule({ schedule: later })).to.deep.equal(await rule({ initial: 2, max: 6 }))
    // All of them must be stable.
    await refused('INVALID_OPTION', () => rule({ schedule: later }, 0.4), 'rule.central.alpha', 'with 5 learners')
  })

  it('places default milestones by the run’s length', () => {
    const { restarts, iterations } = schedule({ model: 'vgg16', learners: 1, batch: 10, until: { epochs: 10 }, optimiser: {} }, 100)
    expect([restarts, iterations]).to.deep.equal([[50, 80], 100])
  })
})

describe('a run’s schedule while its population changes', () => {
  const changing = (options: Partial<TrainOptions>, samples: number, population: [round: number, learners: number][]) =>
    schedule({ ...options, learners: { schedule: population.map(([round, learners]) => ({ round, learners })) } }, samples)

  it('counts samples: epochs, milestones and the end move with them', () => {
    // 10 samples an iteration, from round 15 on 5, from round 25 on 20.
    const population: [number, number][] = [
      [0, 2],
      [15, 1],
      [25, 4]
    ]
    const run = changing({ until: { epochs: 3 }, optimiser: { learningRate: 1, gamma: 0.5, milestones: [1.5, 2] } }, 100, population)
    expect(measurements(run)).to.deep.equal([10, 25, 30])
    expect(run).to.deep.include({ iterations: 30, rounds: 30, endPosition: 300, restarts: [15, 25] })
    expect([14, 15, 24, 25].map((iteration) => learningRateAt(run.learningRates, iteration))).to.deep.equal([1, 0.5, 0.5, 0.25])
  })

  it('keeps rounds whole where they have several iterations', () => {
    const run = changing({ until: { epochs: 2 }, synchroniser: { period: 4 } }, 100, [
      [0, 2],
      [2, 4]
    ])
    // 40 samples a round, then 80: an epoch ends within the third round.
    expect(measurements(run)).to.deep.equal([3, 4])
    expect(run).to.include({ iterations: 14, endPosition: 200 })
  })

  it('begins a round where the run had ended before, and reckons from there', () => {
    const options = { model: 'mlp', learners: 2, batch: 5, until: { steps: 40 }, synchroniser: { period: 16 } } as const
    const run = scheduleOf({ ...runSettings(settingsOf(options), 100), cuts: [{ round: 2, iteration: 20 }] }, 100)
    expect([0, 1, 2, 3, 4].map(run.iterationOf)).to.deep.equal([0, 16, 20, 36, 40])
    expect([16, 18, 20, 21, 36, 37].map(run.roundBy)).to.deep.equal([1, 2, 2, 3, 3, 4])
    expect(run).to.include({ rounds: 4, iterations: 40, endPosition: 400 })
    // An epoch has 10 iterations: the third ends within the third round.
    expect(measurements(run)).to.deep.equal([1, 2, 3, 4])
  })

  it('counts the same iterations where steps end the run, and places shares of the run by them', () => {
    const run = changing({ until: { steps: 20 }, optimiser: {} }, 100, [
      [0, 1],
      [5, 3]
    ])
    expect(run).to.deep.include({ iterations: 20, restarts: [15] })
  })

  it('says of what has been the same, whatever is to come', () => {
    const change = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 5 }))
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 2, maxLength: 8 }),
        fc.integer({ min: 1, max: 5 }),
        fc.boolean(),
        (steps, period, bySteps) => {
          let round = 0
          const population = steps.map(([rounds, learners], i): [number, number] => [(round += i === 0 ? 0 : rounds), learners])
          const options = { until: bySteps ? { steps: 100 } : { epochs: 5 }, optimiser: {}, synchroniser: { period } }
          const whole = changing(options, 97, population)
          const [last] = population.at(-1)!
          const before = changing(options, 97, population.slice(0, -1))
          const passed = (run: Schedule) => ({
            measured: measurements(run).filter((each) => each <= last && each < before.rounds),
            restarts: run.restarts.filter((each) => each <= last && each < before.rounds),
            rates: Array.from({ length: Math.min(last, before.rounds) * period }, (_, iteration) =>
              learningRateAt(run.learningRates, iteration)
            )
          })
          if (last < before.rounds) expect(passed(whole)).to.deep.equal(passed(before))
        }
      )
    )
  })

  it('refuses what is no schedule, each fault by its path', () => {
    expect(() => changing({}, 100, [[1, 2]])).to.throw(
      'learners.schedule[0].round: received 1; use 0: the first change is that of the start'
    )
    expect(() =>
      changing({}, 100, [
        [0, 2],
        [0, 3]
      ])
    ).to.throw('learners.schedule[1].round')
    expect(() => changing({}, 100, [])).to.throw('learners.schedule: received []; give a list of changes')
    expect(() => schedule({ learners: 'many' as 'auto' }, 100)).to.throw('learners: received "many"; give \'auto\', a whole number')
  })
})
