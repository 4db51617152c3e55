import { expect } from 'chai'
import { checkIdentity, identityOf, type RunIdentity } from '../../src/checkpoints/run-identity.js'
import type { ParameterLayout } from '../../src/compiler/program.js'
import type { Dataset } from '../../src/data/dataset.js'
import { digits } from '../../src/data/digits/digits.js'
import { faultsOf } from '../../src/errors.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { settingsOf } from '../../src/options/settings.js'
import type { TrainOptions } from '../../src/index.js'
import { thrown } from '../support/thrown.js'

const data = await digits({ seed: 0, samples: 100 })
const layout = { parameters: [] } as unknown as ParameterLayout

function identity({ model: name = 'mlp', ...options }: Partial<TrainOptions> = {}): RunIdentity {
  const model = typeof name === 'string' ? modelNamed(name, { input: [1, 28, 28], classes: 10 }) : name
  return identityOf(model, data, layout, settingsOf({ model: name, ...options }))
}

/** The options that differ, with their new value, and their old one in the fix. */
function differences(before: Partial<TrainOptions>, now: Partial<TrainOptions>): Record<string, readonly [unknown, string]> {
  const error = thrown(() => checkIdentity('kept/7', identity(before), identity(now)))
  const old = (fix: string) => /^the checkpoint kept\/7 was made with (.*): use that, or another folder of checkpoints$/.exec(fix)![1]!
  return Object.fromEntries(faultsOf(error).map(({ path, received, fix }) => [path, [received, old(fix)] as const]))
}

describe('A run that differs from the checkpoint that it would resume', () => {
  it('is told each option that differs, by its name, with the old and the new value', () => {
    expect(differences({}, { batch: 7, seed: 3, freeze: ['fc1'], optimiser: { momentum: 0.5, learningRate: 0.3 } })).to.deep.equal({
      batch: [7, '32'],
      seed: [3, '1'],
      freeze: [['fc1'], '[]'],
      'optimiser.momentum': [0.5, '0.9'],
      'optimiser.learningRate': [0.3, '0.02']
    })
    expect(
      differences({ optimiser: { learningRate: 0.02 } }, { optimiser: { learningRate: 0.02, warmup: 2 }, average: 'ema' })
    ).to.deep.equal({
      'optimiser.warmup': [2, 'none'],
      'average.name': ['ema', 'none']
    })
    expect(differences({ synchroniser: { name: 'sma', alpha: 0.1 } }, { synchroniser: { name: 'sma', alpha: 0.2 } })).to.deep.equal({
      'synchroniser.alpha': [0.2, '0.1']
    })
  })

  it('is told only the kind if that differs, because the options of two kinds are not comparable', () => {
    expect(differences({}, { synchroniser: { name: 'easgd', alpha: 0.1 }, optimiser: { schedule: 'cosine' } })).to.deep.equal({
      'synchroniser.name': ['easgd', '"sma"'],
      'optimiser.schedule': ['cosine', '"multistep"']
    })
    expect(Object.keys(differences({}, { model: 'logistic-regression', optimiser: { weightDecay: 1e-4 }, batch: 32 }))).to.deep.equal([
      'model',
      'optimiser.learningRate'
    ])
  })

  const streamed = (options: unknown, items: readonly string[] = ['a']) => {
    const { samples: _, ...train } = data.train
    return identityOf(
      modelNamed('mlp', { input: [1, 28, 28], classes: 10 }),
      { ...data, train: { ...train, items, reader: { module: 'data:', options } } } as unknown as Dataset,
      layout,
      settingsOf({ model: 'mlp' })
    )
  }

  it('may have more files than a call takes arguments', () => {
    const files = Array.from({ length: 150_000 }, (_, i) => String(i))
    expect(streamed({}, files)).to.not.deep.equal(streamed({}, [...files.slice(1), 'other']))
  })

  it('may read samples by options that have no JSON', () => {
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    for (const options of [10n, circle]) expect(streamed(options)).to.deep.equal(streamed(null))
    expect(streamed({ size: 1 })).to.not.deep.equal(streamed({ size: 2 }))
  })

  it('is told of a data set of the same name and shape that has other samples, or prepares them otherwise', async () => {
    const before = identity()
    const others = [await digits({ seed: 1, samples: 100 }), { ...data, mean: data.mean.map((each) => each + 1) }]
    for (const other of others) {
      const now = identityOf(modelNamed('mlp', { input: [1, 28, 28], classes: 10 }), other, layout, settingsOf({ model: 'mlp' }))
      const error = thrown(() => checkIdentity('kept/7', before, now))
      expect(faultsOf(error).map(({ path, received }) => [path, received])).to.deep.equal([['data', 'digits']])
      expect(error.message).to.contain('kept/7').and.contain('other samples')
      // Checkpoints of older versions do not say what the samples were.
      const { 'data (its content)': _, ...older } = before
      expect(() => checkIdentity('kept/7', older, now)).to.not.throw()
    }
  })

  it('is told what the numbers of its data stand for, if that differs in data of the same shapes', () => {
    const identityOfData = (others: Partial<Dataset>) => {
      const settings = settingsOf({ model: 'mlp' })
      return identityOf(modelNamed('mlp', { input: [1, 28, 28], classes: 10 }), { ...data, ...others }, layout, settings)
    }
    const [before, names] = [identityOfData({}), data.classNames!]
    const messageOf = (others: Partial<Dataset>, was: RunIdentity) =>
      thrown(() => checkIdentity('kept/7', was, identityOfData(others))).message
    expect(messageOf({ classNames: names.with(3, 'three') }, before)).to.equal(
      'data: received "digits"; its classNames[3] is "three", where the checkpoint kept/7 was made with "3": use the data as it was, or another folder of checkpoints'
    )
    expect(messageOf({ classNames: names.toReversed() }, before))
      .to.include('its classNames[0] is "9"')
      .and.include('"0", and 9 more: use')
    expect(messageOf({ classNames: names.toReversed(), classes: 11 }, before)).to.match(/^data\.classes: received 11; [^;]*$/)
    const mixed = (mixup: number): Partial<Dataset> => ({ augmentation: { ...data.augmentation, mixup } })
    expect(messageOf(mixed(0.2), before)).to.match(/^mixup: received 0.2; the checkpoint kept\/7 was made with 0: use that, /)
    expect(messageOf({}, identityOfData(mixed(0.2)))).to.match(/^mixup: received 0; the checkpoint kept\/7 was made with 0.2: use that, /)
    const weighed = (weight: number) =>
      identityOf(
        { ...modelNamed('mlp', { input: [4], classes: 2 }), classWeights: [1, weight] },
        data,
        layout,
        settingsOf({ model: 'mlp' })
      )
    expect(thrown(() => checkIdentity('kept/7', weighed(2), weighed(3))).message).to.match(
      /^classWeights\[1\]: received 3; .* with 2: use that/
    )
    const table = (mean: number): Partial<Dataset> => ({
      encoding: {
        kind: 'table',
        columns: [{ kind: 'number', name: 'x', mean, std: 1, missing: false }],
        target: { kind: 'classes', name: 'y' }
      }
    })
    expect(messageOf(table(2.5), identityOfData(table(1))))
      .to.include('its encoding.columns[0].mean is 2.5, where')
      .and.include('with 1:')
    const tokens = (json: string): Partial<Dataset> => ({
      encoding: { kind: 'language', tokenizer: { json }, vocabulary: 300, length: 8 }
    })
    expect(messageOf(tokens('{"b":1}'), identityOfData(tokens('{"a":1}')))).to.include('its encoding.tokenizer is "')
    // Checkpoints of older versions do not say it.
    const { 'data (its meaning)': _, 'data (its content)': __, ...older } = before
    expect(() => checkIdentity('kept/7', older, identityOfData({ classNames: names.with(3, 'three') }))).to.not.throw()
  })

  it('may go on if nothing differs', () => {
    expect(() => checkIdentity('kept/7', identity(), identity({ until: { steps: 3 } }))).to.not.throw()
  })
})
