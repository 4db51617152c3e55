import { expect } from 'chai'
import { downpour } from '../../src/rules/downpour.js'
import { localSgd } from '../../src/rules/local-sgd.js'
import { sma } from '../../src/rules/sma.js'
import { ssgd } from '../../src/rules/ssgd.js'
import type { EvaluationAverage, GroupRule } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { GroupRun } from './support/group-run.js'
import { largestDifference, randomSamples, smallTraining } from './support/small-training.js'

const ROUNDS = 50
const BATCH = 4

/** What is evaluated after each round of k learners. */
function evaluated(backend: 'reference' | 'cpu', k: number, rule: GroupRule, average?: EvaluationAverage): Float64Array[] {
  const { program, initial } = smallTraining(backend, { momentum: 0.9 })
  const run = new GroupRun(program, randomSamples(100), { initial, rule, ...(average && { average }) })
  for (let j = 0; j < k; j++) run.add(j)
  return Array.from({ length: ROUNDS }, () => {
    for (let j = 0; j < k; j++) run.compute(j)
    for (let j = 0; j < k; j++) run.finish(j)
    return Float64Array.from(run.central())
  })
}

const weighted = (models: readonly (readonly [weight: number, model: Float64Array])[]) => {
  const all = models.reduce((sum, [weight]) => sum + weight, 0)
  return models[0]![1].map((_, i) => models.reduce((sum, [weight, model]) => sum + weight * model[i]!, 0) / all)
}
const mean = (models: readonly Float64Array[]) => weighted(models.map((model) => [1, model]))

for (const backend of ['reference', 'cpu'] as const)
  describe(`evaluation averages on ${backend}`, () => {
    for (const [name, rule] of Object.entries({
      sma: (learners: number) => sma({}, { learners }),
      ssgd: () => ssgd({}),
      'local-sgd': () => localSgd({ period: 1 }),
      downpour: () => downpour({ period: 1 })
    }))
      for (const k of [1, 2, 3, 5])
        it(`of ${name} with ${k} learners are means of its central models, which they leave alone`, () => {
          const z = evaluated(backend, k, rule(k))
          const samples = BATCH * k
          const same = (average: EvaluationAverage, expected: (round: number) => Float64Array) => {
            for (const [round, model] of evaluated(backend, k, rule(k), average).entries())
              expect(largestDifference(model, expected(round)), `${average.kind}, round ${round}`).below(1e-5)
          }
          const ema = (round: number, decay: number) => weighted(z.slice(0, round + 1).map((model, i) => [decay ** (round - i), model]))
          same({ kind: 'ema', decay: 0.8, from: 0, every: 1 }, (round) => ema(round, 0.8))
          same({ kind: 'ema', decay: 0.999, from: 0, every: 1 }, (round) => ema(round, 0.999))
          // Samples come to 5 rounds' worth at the end of round 4, and to two more at that of 6, 8, ...
          const taken = (round: number) => z.filter((_, each) => each <= round && each >= 4 && each % 2 === 0)
          const marks = { from: 5 * samples, every: 2 * samples }
          same({ kind: 'swa', ...marks }, (round) => (round < 4 ? z[round]! : mean(taken(round))))
          same({ kind: 'lawa', window: 3, ...marks }, (round) => (round < 4 ? z[round]! : mean(taken(round).slice(-3))))
          // Marks that are not whole, such as 10 times 1.1 rounds, which is a little more than 11 in floating point.
          const marked = (from: number, every: number) => {
            const ends = new Set(Array.from({ length: ROUNDS }, (_, i) => Math.ceil(from + i * every - 1e-9) - 1))
            return (round: number) => z.filter((_, each) => each <= round && ends.has(each))
          }
          for (const [from, every] of [
            [2.5, 1.5],
            [1.1, 1.1]
          ] as const) {
            const of = marked(from, every)
            same({ kind: 'swa', from: from * samples, every: every * samples }, (round) => (of(round).length ? mean(of(round)) : z[round]!))
          }
          // More samples than one round has: it counts once.
          same({ kind: 'swa', from: 0, every: 3 }, (round) => mean(z.slice(0, round + 1)))
        })

    it('begin anew with a central model that is given', () => {
      const { program, initial } = smallTraining(backend, {})
      const average = { kind: 'swa', from: 0, every: 1 } as const
      const run = new GroupRun(program, randomSamples(100), { initial, rule: sma({}, { learners: 1 }), average }).add(0)
      run.compute(0)
      run.finish(0)
      const given = initial.map((weight) => weight + 1)
      engine.writeCentral(run.group, given)
      expect(largestDifference(run.central(), given)).to.equal(0)
    })
  })
