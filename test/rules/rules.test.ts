import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import type { RuleChange } from '../../src/engine/contract.js'
import { changedRule } from '../../src/rules/changed-rule.js'
import { ownRule } from '../../src/rules/own-rule.js'
import { ruleNames, ruleOf } from '../../src/rules/rules.js'
import { thrown } from '../support/thrown.js'
import { refused } from '../support/codes.js'

const RUN = { learners: 4, iterations: 100, iterationAt: (epoch: number) => 10 * epoch }

describe('the rules', () => {
  it('need no options, and refuse what means nothing', () => {
    for (const name of ruleNames) {
      expect(ruleOf(name, {}, RUN), name).to.include.keys('kind', 'period')
      const error = thrown(() => ruleOf(name, { beta: 2 }, RUN))
      expect([error.code, error.message], name).to.satisfy(
        ([code, message]: string[]) => code === 'INVALID_OPTION' && message!.startsWith('synchroniser.beta: received 2; ')
      )
    }
  })

  it('refuse numbers outside of their ranges, each by its name', () => {
    for (const [name, option, value] of [
      ['easgd', 'syncMomentum', 0.5],
      ['easgd', 'alpha', 1],
      ['sma', 'lockstep', 1],
      ['polyak-ruppert', 'startEpoch', -1],
      ['local-sgd', 'period', 0],
      ['diloco', 'period', 2 ** 30 + 1],
      ['post-local-sgd', 'startEpoch', -1],
      ['lookahead', 'outerLearningRate', 1.5],
      ['slowmo', 'outerMomentum', 1],
      ['diloco', 'outerLearningRate', 0],
      ['downpour', 'pushPeriod', 0],
      ['downpour', 'fetchPeriod', 2 ** 30 + 1],
      ['downpour', 'bound', 'sp'],
      ['hogwild', 'slack', -1]
    ] as const) {
      const error = thrown(() => ruleOf(name, { [option]: value }, RUN))
      expect(error.code, `${name}.${option}`).to.be.oneOf(['INVALID_OPTION', 'UNKNOWN_NAME'])
      expect(error.message, name).to.contain(`synchroniser.${option}`)
    }
    expect(thrown(() => ruleOf('downpour', { bound: 'asp', slack: 2 }, RUN)).message).to.contain('asp has none')
  })

  it('count epochs in iterations', () => {
    expect(ruleOf('post-local-sgd', { startEpoch: 3 }, RUN)).to.include({ from: 30, period: 8 })
    expect(ruleOf('post-local-sgd', {}, RUN)).to.include({ from: 50 })
    expect(ruleOf('polyak-ruppert', { startEpoch: 2.5 }, RUN)).to.deep.include({ central: { kind: 'mean', from: 25 } })
  })

  it('refuse a change after which averaging would not be stable by the number that was given', () => {
    const rule = ruleOf('sma', { alpha: 0.6, syncMomentum: 0.9 }, RUN)
    const told = (change: RuleChange): string => thrown(() => changedRule(rule, change, 4)).message
    expect(told({ momentum: 0 })).to.equal(
      'momentum: received 0; with 4 learners averaging is stable below 0.4000, and alpha is 0.6: set a lower alpha too'
    )
    for (const change of [{ alpha: 0.7 }, { alpha: 0.7, momentum: 0 }]) expect(told(change)).to.match(/^alpha: received 0\.7; /)
    expect(changedRule(rule, { alpha: 0.3, momentum: 0 }, 4)).to.deep.include({ central: { kind: 'sma', alpha: 0.3, momentum: 0 } })
  })

  it('bound how far apart learners may be', () => {
    expect(['bsp', 'ssp', 'asp'].map((bound) => (ruleOf('hogwild', { bound }, RUN) as { slack: unknown }).slack)).to.deep.equal([
      0,
      3,
      null
    ])
    expect(ruleOf('downpour', { slack: 7 }, RUN)).to.include({ slack: 7 })
  })
})

describe('a rule of one’s own', () => {
  const module = (source: string) => new URL(`data:text/javascript,${encodeURIComponent(source)}`)
  const rule = { kind: 'synchronous', central: { kind: 'mean', from: 0 }, adopts: true, period: 4, from: 0 }
  const giving = (value: unknown) => module(`export default () => (${JSON.stringify(value)})`)

  it('is made by a module from its options and what it may know of the run', async () => {
    const source = `export default ({ period }, { learners, iterationAt }) => ({ ...${JSON.stringify(rule)}, period, from: learners * iterationAt(2) })`
    expect(await ownRule(module(source), { period: 3 }, RUN)).to.deep.equal({ ...rule, period: 3, from: 80 })
    const calm = module(`export default ({ period = 4 }) => ({ ...${JSON.stringify(rule)}, period })`)
    expect(await ownRule(calm, undefined, RUN)).to.deep.equal(rule)
  })

  it('is refused by name where it is none', async () => {
    for (const [value, where] of [
      [7, 'rule: '],
      [{ ...rule, kind: 'other' }, 'rule.kind'],
      [{ ...rule, period: 0 }, 'rule.period'],
      [{ ...rule, period: 2 ** 30 + 1 }, 'rule.period'],
      [{ ...rule, speed: 1 }, 'rule.speed'],
      [{ ...rule, central: { kind: 'sum' } }, 'rule.central.kind'],
      [{ ...rule, central: { kind: 'mean' } }, 'rule.central.from'],
      [{ ...rule, central: { kind: 'sma', alpha: 0.9, momentum: 0 } }, 'rule.central.alpha'],
      [{ ...rule, central: { kind: 'optimiser' } }, 'rule.period'],
      [{ kind: 'asynchronous', period: 1, slack: null, exchange: { kind: 'push', push: 0, fetch: 1 } }, 'rule.exchange.push']
    ] as const) {
      await refused(where.endsWith('kind') ? 'UNKNOWN_NAME' : 'INVALID_OPTION', () => ownRule(giving(value), {}, RUN), where)
    }
    await refused('INVALID_OPTION', () => ownRule(module('export const rule = 1'), {}, RUN), 'export a function as its default')
    const throwing = module('export default () => { throw new Error("boo") }')
    await refused('INVALID_OPTION', () => ownRule(throwing, {}, RUN), 'synchroniser.module', 'it throws', 'boo')
    await refused('INVALID_OPTION', () => ownRule(module('export default async () => ({})'), {}, RUN), 'synchroniser.module', 'a Promise')
    await refused(
      'INVALID_OPTION',
      () => ownRule(module('export default ('), {}, RUN),
      'synchroniser.module: received "data:',
      'cannot be loaded'
    )
  })

  it('may be a TypeScript file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'rule-'))
    try {
      const file = join(folder, 'rule.ts')
      await writeFile(file, `export default (options: object, run: { readonly learners: number }) => (${JSON.stringify(rule)} as object)`)
      expect(await ownRule(pathToFileURL(file), {}, RUN)).to.deep.equal(rule)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
