import { expect } from 'chai'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { settingsOf } from '../../../src/options/settings.js'
import { trainOptions } from '../../../src/options/train-options.js'
import { checkHellos, greetingOf, type Hello } from '../../../src/run/hosts/hello.js'
import { summariesOf } from '../../../src/schema/options-in.js'
import { refused } from '../../support/codes.js'

const ABOUT = {
  version: 'a1b2c3',
  model: { name: 'mlp', layers: [1, 2] },
  parameters: [['w', [3, 4]]],
  optimiser: { learningRate: { kind: 'constant', learningRate: 0.1 }, update: { momentum: 0.9 } },
  seed: 1,
  until: { epochs: 2, steps: null }
}

/** Options that change neither weights nor figures of the run, or of which only the first host's counts. */
const OWN = (
  'dataDir threads devices deviceMemory spill hosts link levels supervisor supervision synchroniserActor checkpoint onNaN onEvaluated onEvaluatedDeadline ' +
  'logEvery onStep log logDir tensorboard dashboard metricsPort trace signal dryRun'
).split(' ')
/** Options that are compared by what they make of the data and of the first weights. */
const BY_CONTENT = ['initial', 'initialWeights', 'tokenizer', 'table']

const hello = (host: string, about: object = {}): Hello => ({ host, about: { ...ABOUT, ...about } })

describe('The hosts of a run', () => {
  it('begin if they are equal', () => {
    checkHellos([hello('a'), hello('b'), hello('c')])
  })

  it('are refused by the first that differs, with its option and both values', () =>
    refused(
      'HOSTS_DIFFER',
      () => checkHellos([hello('a'), hello('b'), hello('c', { seed: 2 })]),
      'seed: rank 2 (c) has 2, rank 0 (a) has 1'
    ))

  it('name the option as the user knows it', () => {
    const optimiser = { ...ABOUT.optimiser, learningRate: { kind: 'constant', learningRate: 0.2 } }
    return refused(
      'HOSTS_DIFFER',
      () => checkHellos([hello('a'), hello('b', { optimiser })]),
      ' optimiser.learningRate: rank 1 (b) has 0.2'
    )
  })

  it('are compared by every option that is not of each host’s own', () => {
    const read = new Set<string>()
    const settings = settingsOf({ model: 'mlp', data: 'digits' })
    greetingOf(new Proxy(settings, { get: (of, name) => (read.add(String(name)), Reflect.get(of, name) as unknown) }))
    const groups: Readonly<Record<string, readonly string[]>> = {
      population: ['learners'],
      devices: ['ruleAt', 'exchange', 'order', 'racks']
    }
    const compared = [...read].flatMap((name) => groups[name] ?? [name])
    const all = new Set(summariesOf(trainOptions.entries).map(({ path }) => path.split('.')[0]!))
    expect([...compared, ...OWN, ...BY_CONTENT]).to.have.members([...all])
  })

  it('name the option from which another learning rate follows', () => {
    const greeting = (accumulate: number) =>
      greetingOf(settingsOf({ model: 'mlp', data: 'digits', batch: 16, optimiser: { name: 'sgd', accumulate } }))
    return refused('HOSTS_DIFFER', () => checkHellos([greeting(1), greeting(2)]), 'optimiser.accumulate: rank 1', 'has 2')
  })

  it('name another model, and not the parameters that follow from it', () => {
    const other = { parameters: [['w', [9, 9]]], model: { name: 'lenet', layers: [] } }
    return refused('HOSTS_DIFFER', () => checkHellos([hello('a'), hello('b', other)]), 'model: rank 1 (b) has "lenet"')
  })

  it('name another version', () =>
    refused('HOSTS_DIFFER', () => checkHellos([hello('a'), hello('b', { version: 'ffffff' })]), 'version: rank 1'))

  it('name a learner whose module differs, by its content', () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-hello-'))
    try {
      const learner = join(folder, 'learner.mjs')
      const greeting = (content: string) => {
        writeFileSync(learner, content)
        return greetingOf(settingsOf({ model: 'mlp', data: 'digits', learner }))
      }
      const first = greeting('export class Learner {}')
      checkHellos([first, greeting('export class Learner {}')])
      const error = () => checkHellos([first, greeting('export class Learner { step() {} }')])
      expect(error).to.throw(/^hosts: learner \(its content\): rank 1 /)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('may leave an option out on one host alone: that differs as well', () => {
    const error = () => checkHellos([hello('a', { overfit: 3 }), hello('b', { overfit: undefined })])
    expect(error).to.throw(/overfit: rank 1 \(b\) has none, rank 0 \(a\) has 3/)
  })
})
