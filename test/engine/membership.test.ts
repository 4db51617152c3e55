import { expect } from 'chai'
import fc from 'fast-check'
import { sma } from '../../src/rules/sma.js'
import { compile } from '../../src/compiler/compile.js'
import { engine } from '../../src/engine/native.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { buildGraph } from '../../src/model/graph-builder.js'
import { initialParameters } from '../../src/model/initialise.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { GroupRun } from './support/group-run.js'

const BATCH = 4
const RATE = 0.05
const MOMENTUM = 0.9
const MU = 0.3

const model = modelNamed('logistic-regression', { input: [6], classes: 3 })
const load = { padding: 0, flip: false, mean: [], std: [], shuffled: true }
const options = {
  batch: BATCH,
  mode: 'train',
  precision: 'f32',
  load,
  optimiser: { momentum: MOMENTUM, weightDecay: 0, nesterov: false }
} as const

interface PlainLearner {
  readonly weights: Float64Array
  readonly velocity: Float64Array
}

/** Synchronous model averaging at period 1 as its publication writes it, among members that change from round to round. */
class PlainGroup {
  readonly learners = new Map<number, PlainLearner>()
  z: Float64Array
  #before: Float64Array

  constructor(initial: ArrayLike<number>) {
    this.z = Float64Array.from(initial)
    this.#before = Float64Array.from(initial)
  }

  join(learner: number): void {
    this.learners.set(learner, { weights: Float64Array.from(this.z), velocity: new Float64Array(this.z.length) })
  }

  /** `lost` take part in the round and die before they have corrected. */
  round(gradients: ReadonlyMap<number, ArrayLike<number>>, lost: readonly number[]): void {
    const { z } = this
    const alpha = Math.min(1 / this.learners.size, 1 / 2)
    const arrived = [...this.learners].filter(([learner]) => !lost.includes(learner))
    const next = Float64Array.from(z, (value, i) => (arrived.length === 0 ? value : value + MU * (value - this.#before[i]!)))
    for (const [learner, { weights, velocity }] of arrived)
      for (let i = 0; i < z.length; i++) {
        const correction = alpha * (weights[i]! - z[i]!)
        velocity[i] = MOMENTUM * velocity[i]! + gradients.get(learner)![i]!
        weights[i] = weights[i]! - RATE * velocity[i]! - correction
        next[i] = next[i]! + correction
      }
    this.#before = z
    this.z = next
    for (const learner of lost) this.learners.delete(learner)
  }
}

function samples(count: number) {
  const values = Float32Array.from({ length: count * 6 }, (_, i) => Math.sin(i * 12.9898) % 1)
  return engine.createDataset({
    count,
    sample: [6],
    samples: values,
    labels: Int32Array.from({ length: count }, (_, i) => i % 3),
    classes: 3
  })
}

type Change = 'none' | 'join' | 'evict' | 'die'

describe('a group whose members come, go and die in mid-run', () => {
  for (const backend of ['reference', 'cpu'] as const)
    it(`equals a plain model of the algorithm over a hundred rounds on ${backend}`, () => {
      const program = compile(model, loweringBackend(engine, backend), options)
      const initial = initialParameters(buildGraph(model, { batch: BATCH, mode: 'train', load }), 7)
      const dataset = samples(60)
      const change = fc.tuple(fc.constantFrom<Change>('none', 'join', 'join', 'evict', 'evict', 'die'), fc.nat())
      fc.assert(
        fc.property(fc.array(change, { minLength: 100, maxLength: 100 }), (changes) => {
          const run = new GroupRun(program, dataset, { initial, rule: sma({ syncMomentum: MU }, { learners: 6 }) }, { rate: RATE })
          const plain = new PlainGroup(initial)
          let position = 0
          let next = 0
          const join = () => {
            run.add(next)
            plain.join(next++)
          }
          join()
          for (const [what, random] of changes) {
            const members = [...plain.learners.keys()]
            const one = members[random % members.length]!
            if (what === 'join' && members.length < 6) join()
            if (what === 'evict' && members.length > 1) {
              engine.evict(run.group, one)
              plain.learners.delete(one)
            }
            const taking = [...plain.learners.keys()]
            for (const learner of taking) run.compute(learner)
            const lost = what === 'die' && taking.length > 1 ? [one] : []
            plain.round(new Map(taking.map((learner) => [learner, run.gradients(learner)])), lost)
            for (const learner of lost) engine.evict(run.group, learner)
            for (const learner of plain.learners.keys()) run.finish(learner)
            position += taking.length * BATCH
            for (const [learner, { weights }] of plain.learners) near(run.weights(learner), weights)
            near(run.central(), plain.z)
          }
          expect(engine.groupStatus(run.group)).to.deep.include({ round: 100, position, members: [...plain.learners.keys()] })
        }),
        { numRuns: 10 }
      )
    })
})

function near(actual: ArrayLike<number>, expected: ArrayLike<number>): void {
  for (let i = 0; i < expected.length; i++)
    if (!(Math.abs(actual[i]! - expected[i]!) < 1e-5)) expect(actual[i]).to.be.closeTo(expected[i]!, 1e-5)
}
