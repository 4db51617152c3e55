import { expect } from 'chai'
import { faultsOf } from '../../src/errors.js'
import { check, Faults } from '../../src/schema/faults.js'
import { group, option, orShort, required, variants } from '../../src/schema/group.js'
import { list, oneOf, real, text, whole } from '../../src/schema/values.js'
import * as v from 'valibot'
import { thrown } from '../support/thrown.js'

const names = oneOf(['sgd', 'adam'])
const optimiser = group({ name: option(names, { default: 'sgd' }), learningRate: option(real({ above: 0 }), { also: ['lr'] }) })
const trace = group({ file: required(text('the path of a file')), steps: option(whole({ max: 100 }), { default: 20 }) })
const shape = variants('kind', {
  circle: group({ kind: required(v.literal('circle')), radius: required(real({ above: 0, below: 9 })) }),
  square: group({ kind: required(v.literal('square')), side: required(real({ min: 1, max: 2 })) })
})
const options = group({
  optimiser: option(orShort(names, optimiser, 'name')),
  until: option(group({ monitor: option(oneOf(['loss', 'accuracy'])), steps: option(whole({ min: 1 })) })),
  trace: option(orShort(text('the path of a file'), trace, 'file')),
  cores: option(list(whole(), 'a list of cores', { min: 1 })),
  shape: option(shape)
})

/** Path and fix of each fault. */
const fixes = (given: unknown): Record<string, string> => {
  const error = thrown(() => check(options, given, { root: options.entries }))
  return Object.fromEntries(faultsOf(error).map(({ path, fix }) => [path, fix]))
}

describe('Options that are checked', () => {
  it('have their defaults, and short forms are complete', () => {
    expect(check(options, {})).to.deep.equal({})
    expect(check(options, { optimiser: 'adam', trace: 'a.json', until: undefined })).to.deep.equal({
      optimiser: { name: 'adam' },
      trace: { file: 'a.json', steps: 20 }
    })
    expect(check(options, { optimiser: { learningRate: 1 }, shape: { kind: 'square', side: 2 } })).to.deep.equal({
      optimiser: { name: 'sgd', learningRate: 1 },
      shape: { kind: 'square', side: 2 }
    })
  })

  it('tell all faults, those of the form that was meant', () => {
    expect(
      fixes({ optimiser: { learningRate: NaN }, trace: { steps: 101 }, cores: [0, -1], shape: { kind: 'circle', radius: 9 }, until: 3 })
    ).to.deep.equal({
      'optimiser.learningRate': 'use a number above 0',
      'trace.file': 'give the path of a file',
      'trace.steps': 'use a whole number from 0 to 100',
      'cores[1]': 'use a whole number of at least 0',
      'shape.radius': 'use a number above 0 and below 9',
      until: 'give an object with some of monitor, steps'
    })
    expect(fixes({ cores: [], shape: { kind: 'square', side: 3 } })).to.deep.equal({
      cores: 'give a list of cores',
      'shape.side': 'use a number from 1 to 2'
    })
    // None has anything that could be an option: without this they would stand for all defaults.
    for (const value of [Promise.resolve(), new Date(0), new URL('file:///rule.js'), /a/, new Error('a')])
      expect(fixes({ until: value, optimiser: value }), value.constructor.name).to.deep.equal({
        until: 'give an object with some of monitor, steps',
        optimiser: 'give an object with some of name, learningRate'
      })
    expect(check(options, { until: Object.create(null), optimiser: new (class Options {})() })).to.deep.equal({
      until: {},
      optimiser: { name: 'sgd' }
    })
    expect(thrown(() => check(options, [], { path: 'options' })).message).to.match(
      /^options: received \[\]; give an object with some of optimiser, /
    )
  })

  it('name the upper bound to a number that is too large', () => {
    expect(fixes({ until: { steps: 1e300 } })).to.deep.equal({ 'until.steps': 'use a whole number from 1 to 9007199254740991' })
  })

  it('ask after mistyped names, of options and of values', () => {
    expect(fixes({ optimiser: 'adm', until: { step: 1, monitor: 'lost' }, shape: { kind: 'Circle' }, traces: 'a' })).to.deep.equal({
      optimiser: 'use one of adam, sgd; did you mean adam?',
      'until.step': 'use only monitor, steps; did you mean steps?',
      'until.monitor': 'use one of accuracy, loss; did you mean loss?',
      'shape.kind': 'use one of circle, square; did you mean circle?',
      traces: 'use only optimiser, until, trace, cores, shape; did you mean trace?'
    })
  })

  it('tell American spellings, names of other libraries, and the place of an option that is elsewhere', () => {
    expect(fixes({ optimizer: 'sgd', monitor: 'loss', lr: 1, optimiser: { lr: 1, monitor: 'loss' } })).to.deep.equal({
      optimizer: 'use the British spelling: optimiser',
      monitor: 'its place is until.monitor',
      lr: 'its place is optimiser.learningRate',
      'optimiser.lr': 'use learningRate',
      'optimiser.monitor': 'its place is until.monitor'
    })
  })

  it('count as omitted where they are at fault, with the group that lacks what it requires', () => {
    const faults = new Faults()
    const given = { until: { steps: 3, foo: 1 }, trace: { steps: 3 }, optimiser: { name: 'adm', learningRate: 2 }, cores: [1, 'x'] }
    expect(faults.checked(options, given)).to.deep.equal({ until: { steps: 3 }, optimiser: { name: 'sgd', learningRate: 2 } })
    expect(faultsOf(thrown(() => faults.throwAny())).map(({ path }) => path)).to.deep.equal([
      'optimiser.name',
      'until.foo',
      'trace.file',
      'cores[1]'
    ])
  })
})
