import { expect } from 'chai'
import type { Program } from '../../src/compiler/program.js'
import type { DatasetSpec } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { thrown } from '../support/thrown.js'
import { smallTraining } from './support/small-training.js'

/** What the checks of the binding once let through. */
describe('what a hostile caller may give', () => {
  const { program, initial } = smallTraining('cpu', { momentum: 0, weightDecay: 0 })
  interface LooseOperator {
    kind: string
    inputs: number[]
    outputs: number[]
  }
  interface Loose {
    values: { shape: number[] }[]
    segments: Record<'forward' | 'exchange' | 'update', LooseOperator[]>
  }
  const changed = (change: (loose: Loose) => void): Program => {
    const copy = structuredClone(program) as unknown as Loose & Program
    change(copy)
    return copy
  }
  const bind = (given: Program): unknown => {
    const replica = engine.createReplica({ backend: 'cpu', layout: program.parameters, threads: 1, seed: 1 })
    const samples = new Float32Array(4 * 12)
    const data = engine.createDataset({ count: 4, sample: [12], samples, labels: new Int32Array(4), classes: 5 })
    return engine.bind(replica, engine.createProgram(given), data)
  }

  it('is no value whose number leaves 32 bits', () => {
    const given = changed(({ segments }) => (segments.forward[0]!.inputs[0]! += 2 ** 32))
    expect(thrown(() => bind(given)).code).to.equal('INVALID_PROGRAM')
  })

  it('is no operator whose values are of another shape', () => {
    const given = changed(({ values, segments }) => {
      const { outputs } = segments.forward.find(({ kind }) => kind === 'softmaxCrossEntropy')!
      values[outputs[1]!]!.shape = [1, 1]
    })
    expect(thrown(() => bind(given)).code).to.equal('INVALID_PROGRAM')
  })

  it('is no update in the place of another operator, and no other in its place', () => {
    for (const change of [
      ({ segments }: Loose) => segments.forward.push(...segments.update),
      ({ segments }: Loose) => (segments.update = [segments.exchange[0]!])
    ])
      expect(thrown(() => bind(changed(change))).code).to.equal('INVALID_PROGRAM')
  })

  it('is no data set whose sizes overflow', () => {
    const samples = new Uint8Array(0)
    const spec = { count: 1, sample: [2 ** 28, 2 ** 28, 2 ** 8], samples, labels: new Int32Array(1), classes: 1 }
    expect(thrown(() => engine.createDataset(spec)).code).to.equal('SHAPE_MISMATCH')
    const tokens: DatasetSpec = { count: 2 ** 52, sample: [4], samples: new Int32Array(9), stride: 4096, classes: 1 }
    expect(thrown(() => engine.createDataset(tokens)).code).to.equal('SHAPE_MISMATCH')
  })

  it('is no snapshot of a learner that has no number, or of a round that no group reaches', () => {
    const group = engine.createGroup({
      backend: 'cpu',
      layout: program.parameters,
      initial,
      batch: 4,
      rule: { kind: 'asynchronous', exchange: { kind: 'push', push: 1, fetch: 1 }, slack: null, period: 2 }
    })
    const vectors = { central: initial }
    for (const counts of [
      { round: 1, position: 8, 'own.x': 1 },
      { round: 2 ** 50, position: 8 }
    ])
      expect(thrown(() => engine.restoreGroup(group, { vectors, counts })).code).to.equal('SHAPE_MISMATCH')
    expect(engine.losses(group, -(2 ** 40))).to.have.length(0)
  })
})
