import { expect } from 'chai'
import { checkpointSettings } from '../../src/options/checkpoint.js'
import { differences } from '../../src/observe/run-differences.js'
import { distinctions } from '../../src/observe/run-labels.js'

describe('what tells runs apart', () => {
  const base = { model: 'lenet', learners: 2, seed: 1, logDir: 'a', synchroniser: { name: 'sma', options: { period: 1 } } }
  const told = (...options: readonly object[]) => distinctions(options.map((each) => ({ options: { ...base, ...each } })))

  it('is told by what people compare first, in few words', () => {
    expect(
      told(
        { optimiser: { learningRate: { learningRate: 0.1 } }, learners: 4 },
        { optimiser: { learningRate: { learningRate: 0.2 } }, seed: 2, batch: 8 }
      )
    ).to.deep.equal(['4 learners, rate 0.1', '2 learners, batch 8, rate 0.2'])
  })

  it('has of a number the digits that tell it from the others', () => {
    const rates = [0.002384123091283712, 0.002384823091283712, 0.1 / 3, 1e-5, 2]
    expect(told(...rates.map((learningRate) => ({ optimiser: { learningRate: { learningRate } } })))).to.deep.equal([
      'rate 0.002384',
      'rate 0.002385',
      'rate 0.0333',
      'rate 0.00001',
      'rate 2'
    ])
  })

  it('is a rule by its name alone, whose options are its own', () => {
    expect(told({}, { synchroniser: { name: 'diloco', options: { period: 500 } } })).to.deep.equal(['sma', 'diloco'])
    expect(told({}, { synchroniser: { name: 'sma', options: { period: 4 } } })).to.deep.equal(['period 1', 'period 4'])
  })

  it('is the kind of a schedule, an optimiser or an average, and not what follows from it', () => {
    const multistep = { kind: 'multistep', learningRate: 0.02, gamma: 0.1, milestones: [{ fraction: 0.75 }] }
    const sgd = { name: 'sgd', momentum: 0.9 }
    expect(
      told({ optimiser: { learningRate: multistep } }, { optimiser: { learningRate: { kind: 'cosine', learningRate: 0.02 } } })
    ).to.deep.equal(['multistep schedule', 'cosine schedule'])
    expect(told({ optimiser: { update: sgd } }, { optimiser: { update: { name: 'adam', beta1: 0.9 } } })).to.deep.equal(['sgd', 'adam'])
    expect(told({}, { average: { kind: 'ema', decay: 0.999 } })).to.deep.equal(['default average', 'ema'])
  })

  it('is in the words of people', () => {
    expect(told({ learners: 1 }, { learners: 4 })).to.deep.equal(['1 learner', '4 learners'])
    expect(told({}, { population: { tuning: { most: 6 } } })).to.deep.equal(['2 learners', 'learners auto'])
    expect(told({ until: { epochs: 1 } }, { until: { steps: 200 } })).to.deep.equal(['1 epoch', '200 steps'])
    expect(told({}, { optimiser: { clipNorm: 1 } })).to.deep.equal(['default clip norm', 'clip norm 1'])
    expect(told({ nesterov: false }, { nesterov: true })).to.deep.equal(['no nesterov', 'nesterov'])
    expect(told({}, { learner: 'file:///home/me/mine.mjs' })).to.deep.equal(['default learner', 'learner mine.mjs'])
    expect(told({ data: '/data/a.csv' }, { data: '/data/b.csv' })).to.deep.equal(['a.csv', 'b.csv'])
    expect(told({ data: 'a/photos' }, { data: 'b/photos' }, { data: 'texts/' })).to.deep.equal(['a/photos', 'b/photos', 'texts/'])
    const cores = (...devices: readonly number[][]) => ({
      devices: { devices: devices.map((each) => ({ cores: each })), levels: [devices.length] }
    })
    expect(told(cores([]), cores([0], [1]))).to.deep.equal(['1 device', '2 devices'])
  })

  it('is of many runs what each has that most of the others do not have', () => {
    const variants = [{}, { seed: 2 }, { batch: 8 }, { learners: 4, precision: 'bf16' }, { precision: 'bf16' }]
    const runs = variants.map((each) => ({ batch: 32, precision: 'f32', ...each }))
    expect(told(...runs)).to.deep.equal(['2 learners, batch 32, f32', 'seed 2', 'batch 8', '4 learners, bf16', 'bf16'])
    const grid = [0.1, 0.2].flatMap((rate) => [8, 16].map((batch) => ({ batch, optimiser: { learningRate: { learningRate: rate } } })))
    expect(told(...grid)).to.deep.equal(['batch 8, rate 0.1', 'batch 16, rate 0.1', 'batch 8, rate 0.2', 'batch 16, rate 0.2'])
  })

  it('is not where runs are recorded, and nothing between equal runs', () => {
    expect(told({}, { logDir: 'b', metricsPort: 9464, checkpoint: { dir: 'c' } })).to.deep.equal(['', ''])
    expect(told({}, { onStep: '[function onStep]', onEvaluated: '[function onEvaluated]', onEvaluatedDeadline: 60_000 })).to.deep.equal([
      '',
      ''
    ])
    expect(distinctions([])).to.deep.equal([])
  })

  it('has each option once, by its name', () => {
    const checkpoints = ['auto', 'runs/a'].map((resume) => ({
      options: { checkpoint: checkpointSettings({ dir: 'runs', keep: 3, resume }) }
    }))
    expect(differences(checkpoints).map(({ option }) => option)).to.deep.equal(['checkpoint.resume'])
  })
})
