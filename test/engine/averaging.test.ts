import { expect } from 'chai'
import { compile } from '../../src/compiler/compile.js'
import type { BackendName, Program } from '../../src/compiler/program.js'
import type { Handle } from '../../src/engine/contract.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { buildGraph } from '../../src/model/graph-builder.js'
import { initialParameters } from '../../src/model/initialise.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { GroupRun } from './support/group-run.js'

const BATCH = 4
const RATE = 0.05
const MOMENTUM = 0.9

function smallProgram(backend: BackendName, momentum = MOMENTUM): { program: Program; initial: Float32Array } {
  const model = modelNamed('mlp', { input: [12], classes: 5 })
  const optimiser = { momentum, weightDecay: 1e-3, nesterov: false }
  const load = { padding: 0, flip: false, mean: [], deviation: [], shuffled: true }
  const program = compile(model, loweringBackend(engine, backend), { batch: BATCH, mode: 'train', precision: 'f32', load, optimiser })
  return { program, initial: initialParameters(buildGraph(model, { batch: BATCH, mode: 'train', load }), 7) }
}

function randomSamples(count: number): Handle {
  let state = 12345
  const next = (): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32
  const samples = Float32Array.from({ length: count * 12 }, () => next() * 2 - 1)
  const labels = Int32Array.from({ length: count }, () => Math.floor(next() * 5))
  return engine.createDataset({ count, sample: [12], samples, labels, classes: 5 })
}

/** Synchronous model averaging as its publication writes it, in double precision, over gradients that are given to it. */
class PlainSma {
  readonly w: Float64Array[]
  readonly v: Float64Array[]
  z: Float64Array
  zOld: Float64Array
  readonly alpha: number
  readonly mu: number

  constructor(initial: Float32Array, k: number, alpha: number, mu: number) {
    this.alpha = alpha
    this.mu = mu
    this.w = Array.from({ length: k }, () => Float64Array.from(initial))
    this.v = Array.from({ length: k }, () => new Float64Array(initial.length))
    this.z = Float64Array.from(initial)
    this.zOld = Float64Array.from(initial)
  }

  iteration(gradients: readonly ArrayLike<number>[], corrects: boolean): void {
    const { w, v, z, zOld, alpha, mu } = this
    const next = Float64Array.from(z, (value, i) => value + mu * (value - zOld[i]!))
    w.forEach((weights, j) => {
      for (let i = 0; i < weights.length; i++) {
        const g = gradients[j]![i]! + 1e-3 * weights[i]!
        v[j]![i] = MOMENTUM * v[j]![i]! + g
        const c = corrects ? alpha * (weights[i]! - z[i]!) : 0
        weights[i] = weights[i]! - RATE * v[j]![i]! - c
        next[i] = next[i]! + c
      }
    })
    if (!corrects) return
    this.zOld = z
    this.z = next
  }
}

function largestDifference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let largest = 0
  for (let i = 0; i < a.length; i++) largest = Math.max(largest, Math.abs(a[i]! - b[i]!))
  return largest
}

for (const backend of ['reference', 'cpu'] as const) {
  describe(`synchronous model averaging on ${backend}`, () => {
    for (const k of [1, 2, 3])
      for (const period of [1, 3])
        it(`equals a plain model of the algorithm with ${k} learners and a period of ${period} over 50 rounds`, () => {
          const { program, initial } = smallProgram(backend)
          const alpha = Math.min(1 / k, 0.5)
          const run = new GroupRun(program, randomSamples(300), { initial, period, alpha: null, syncMomentum: 0.3 }, { rate: RATE })
          const learners = Array.from({ length: k }, (_, j) => j)
          for (const j of learners) run.add(j)
          const plain = new PlainSma(initial, k, alpha, 0.3)
          for (let t = 0; t < 50 * period; t++) {
            for (const j of learners) run.compute(j)
            plain.iteration(
              learners.map((j) => run.gradients(j)),
              t % period === period - 1
            )
            for (const j of learners) run.finish(j)
            for (const j of learners) expect(largestDifference(run.weights(j), plain.w[j]!), `learner ${j}, iteration ${t}`).below(1e-5)
            expect(largestDifference(run.central(), plain.z), `central model, iteration ${t}`).below(1e-5)
          }
          expect(largestDifference(run.central(), initial)).above(1e-2)
          expect(engine.groupStatus(run.group)).to.include({ round: 50, iterations: 50 * period, position: 50 * period * k * BATCH })
        })

    it('gives the same bits whatever the order of arrival', () => {
      const { program, initial } = smallProgram(backend)
      const orders = [
        [0, 1, 2],
        [2, 1, 0],
        [1, 2, 0]
      ]
      const [first, ...others] = orders.map((order) => {
        const run = new GroupRun(program, randomSamples(100), { initial, period: 2, alpha: null, syncMomentum: 0.5 })
        for (const j of [0, 1, 2]) run.add(j)
        for (let t = 0; t < 20; t++) {
          for (const j of order) run.compute(j)
          for (const j of [...order].reverse()) run.finish(j)
        }
        return Buffer.from(run.central().buffer).toString('hex')
      })
      for (const other of others) expect(other).to.equal(first)
    })
  })
}

describe('a group', () => {
  const soon = { milliseconds: 20 }
  const start = (k: number, period = 1): GroupRun => {
    const { program, initial } = smallProgram('reference')
    const run = new GroupRun(program, randomSamples(100), { initial, period, alpha: null, syncMomentum: 0 })
    for (let j = 0; j < k; j++) run.add(j)
    return run
  }

  it('completes a round that an evicted learner holds up, without its correction', () => {
    const run = start(2)
    for (const j of [0, 1]) run.compute(j)
    run.finish(0)
    expect(engine.groupStatus(run.group)).to.deep.include({ round: 0, arrived: [0] })
    engine.evict(run.group, 1)
    expect(engine.groupStatus(run.group)).to.deep.include({ round: 1, members: [0] })
    run.compute(0)
    run.finish(0)
    expect(engine.groupStatus(run.group).round).to.equal(2)
  })

  it('starts a learner that joins from the central model of its first round', () => {
    const run = start(2)
    for (let t = 0; t < 5; t++) {
      for (const j of [0, 1]) run.compute(j)
      for (const j of [0, 1]) run.finish(j)
    }
    run.add(2)
    const central = run.central()
    run.compute(2)
    expect(largestDifference(run.weights(2), central)).to.equal(0)
    expect(engine.groupStatus(run.group).position).to.equal((5 * 2 + 3) * BATCH)
  })

  it('lets a learner leave at the end of the round that is open', () => {
    const run = start(2)
    for (const j of [0, 1]) run.compute(j)
    expect(engine.leave(run.group, 1)).to.equal(1)
    for (const j of [0, 1]) run.finish(j)
    expect(engine.groupStatus(run.group)).to.deep.include({ round: 1, members: [0] })
    expect(run.segment(1, 'load')).to.equal('evicted')
    run.compute(0)
    run.finish(0)
    expect(engine.groupStatus(run.group).round).to.equal(2)
  })

  it('restarts every learner from the central model at a milestone', () => {
    const run = start(2)
    engine.setRestarts(run.group, [3])
    for (let t = 0; t < 3; t++) {
      for (const j of [0, 1]) run.compute(j)
      for (const j of [0, 1]) run.finish(j)
    }
    const central = run.central()
    for (const j of [0, 1]) expect(largestDifference(run.weights(j), central)).above(0)
    for (const j of [0, 1]) run.compute(j)
    for (const j of [0, 1]) {
      expect(largestDifference(run.weights(j), central)).to.equal(0)
      expect(largestDifference(engine.readVector(run.replicas.get(j)!.replica, 'velocity'), new Float32Array(central.length))).to.equal(0)
    }
  })

  it('averages the last round where it is only a part of a period', () => {
    const run = start(1, 4)
    engine.setEnd(run.group, 6)
    for (let t = 0; t < 6; t++) {
      run.compute(0)
      run.finish(0)
    }
    expect(engine.groupStatus(run.group)).to.include({ round: 2, iterations: 6, position: 6 * BATCH })
    const { replica, slot } = run.replicas.get(0)!
    expect(engine.run(replica, slot, { steps: 1, milliseconds: 1000 }).outcome).to.equal('paused')
  })

  it('pauses at a round, with the central model whole, and goes on', () => {
    const run = start(1)
    const { replica, slot } = run.replicas.get(0)!
    engine.setPause(run.group, 7)
    expect(engine.run(replica, slot, { steps: 100, milliseconds: 10_000 })).to.include({ outcome: 'paused', steps: 7 })
    expect(engine.groupStatus(run.group).round).to.equal(7)
    engine.setPause(run.group, Infinity)
    expect(engine.run(replica, slot, { steps: 3, milliseconds: 10_000 })).to.include({ outcome: 'ran', steps: 3 })
  })

  it('tells a learner that waits to come back, and goes on in the middle of its step', () => {
    const run = start(2)
    const { replica, slot } = run.replicas.get(0)!
    const first = engine.run(replica, slot, { steps: 10, milliseconds: 30 })
    expect(first).to.include({ outcome: 'waiting', steps: 1 })
    run.compute(1)
    run.finish(1)
    expect(engine.run(replica, slot, { steps: 10, milliseconds: 30 })).to.include({ outcome: 'waiting', steps: 1 })
    expect(engine.losses(run.group, 0)).to.have.length(1)
  })

  it('tells the same segment by segment, and no segment of a step runs before its group lets it', () => {
    const run = start(2)
    for (const j of [0, 1]) run.compute(j)
    run.finish(0)
    run.compute(0)
    const before = run.weights(0)
    // The update needs the central model as the exchange does, also where the exchange is left out.
    for (const segment of ['exchange', 'update'] as const) expect(run.segment(0, segment, soon), segment).to.equal('waiting')
    expect(largestDifference(run.weights(0), before)).to.equal(0)
    engine.setPause(run.group, 2)
    run.finish(1)
    run.finish(0)
    expect(run.segment(0, 'load', soon)).to.equal('waiting')
    run.compute(1)
    run.finish(1)
    expect(run.segment(0, 'load', soon)).to.equal('paused')
    engine.setPause(run.group, Infinity)
    run.compute(0)
    engine.evict(run.group, 0)
    expect(run.segment(0, 'exchange', soon)).to.equal('ran')
    expect(run.segment(0, 'update', soon)).to.equal('ran')
    expect(run.segment(0, 'load', soon)).to.equal('evicted')
    engine.stop(run.group)
    expect(run.segment(1, 'load', soon)).to.equal('cancelled')
  })

  it('takes a rate and samples of a learner of its own choice', () => {
    const run = start(1)
    const before = run.central()
    run.segment(0, 'load', { ...soon, samples: [7, 7, 3, 99], rate: 0 })
    const { replica, slot } = run.replicas.get(0)!
    const input = engine.readValue(replica, slot, 'input')
    expect([...input.subarray(0, 12)]).to.deep.equal([...input.subarray(12, 24)])
    expect([...input.subarray(0, 12)]).to.not.deep.equal([...input.subarray(24, 36)])
    for (const segment of ['forward', 'backward', 'exchange'] as const)
      expect(run.segment(0, segment, { ...soon, rate: 0 })).to.equal('ran')
    run.segment(0, 'update', { ...soon, rate: 0 })
    expect(largestDifference(run.weights(0), before)).to.equal(0)
    for (const samples of [[1], [0, 0, 0, 100], [0, 0, 0, -1]])
      expect(() => run.segment(0, 'load', { ...soon, samples }))
        .to.throw()
        .with.property('code', 'INVALID_OPTION')
    run.segment(0, 'load')
    expect([...engine.readValue(replica, slot, 'input')]).to.not.deep.equal([...input])
  })

  it('stops before a loss that is not finite reaches the central model', () => {
    const { program, initial } = smallProgram('reference')
    const run = new GroupRun(program, randomSamples(100), { initial, period: 1, alpha: null, syncMomentum: 0 }, { rate: 1e30 }).add(0)
    const { replica, slot } = run.replicas.get(0)!
    expect(engine.run(replica, slot, { steps: 100, milliseconds: 10_000 }).outcome).to.equal('cancelled')
    expect(engine.groupStatus(run.group).notFiniteAt).within(1, 10)
    expect([...run.central()].every(Number.isFinite)).to.equal(true)
  })

  it('ends a learner that is cancelled or whose group is stopped', () => {
    const run = start(2)
    const { replica, slot } = run.replicas.get(0)!
    engine.cancel(replica)
    expect(engine.run(replica, slot, { steps: 10, milliseconds: 1000 }).outcome).to.equal('cancelled')
    engine.stop(run.group)
    expect(engine.run(replica, slot, { steps: 10, milliseconds: 1000 }).outcome).to.equal('cancelled')
  })

  it('refuses a learner that is already a member', () => {
    const run = start(1)
    expect(() => engine.join(run.group, 0))
      .to.throw()
      .with.property('code', 'INVALID_STATE')
  })
})
