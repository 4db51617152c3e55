import { expect } from 'chai'
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Program } from '../../src/compiler/program.js'
import type { DatasetSpec, Handle } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import type { ArbalestError } from '../../src/errors.js'
import { thrown } from '../support/thrown.js'
import { BoundOperator } from './support/bound-operator.js'
import { label, type OperatorCase } from './support/operator-case.js'
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

  it('is no layout whose parameters leave a gap in the canonical vector, or begin where another one does', () => {
    const { parameters } = program
    const [first, second, ...others] = parameters.parameters
    for (const canonical of [first!.canonical, second!.canonical + 1, 2 ** 40]) {
      const layout = { ...parameters, parameters: [first!, { ...second!, canonical }, ...others] }
      expect(thrown(() => engine.createReplica({ backend: 'cpu', layout, threads: 1, seed: 1 })).code).to.equal('INVALID_PROGRAM')
    }
  })

  it('is no group that the optimiser does not have', () => {
    const given = smallTraining('cpu', { groups: [{ parameters: 'vectors', weightDecay: 0 }] }).program
    const [first, ...others] = given.parameters.parameters
    const parameters = { ...given.parameters, parameters: [{ ...first!, group: 2 }, ...others] }
    const replica = engine.createReplica({ backend: 'cpu', layout: parameters, threads: 1, seed: 1 })
    const data = engine.createDataset({ count: 4, sample: [12], samples: new Float32Array(48), labels: new Int32Array(4), classes: 5 })
    expect(thrown(() => engine.bind(replica, engine.createProgram({ ...given, parameters }), data)).code).to.equal('INVALID_PROGRAM')
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

  it('is no token that another thread changes between its check and its copy', async () => {
    const count = 20_000
    const memory = new SharedArrayBuffer(4 * count)
    const code = `const tokens = new Int32Array(require('node:worker_threads').workerData)
      for (;;) { Atomics.store(tokens, ${count - 1}, -1); Atomics.store(tokens, ${count - 1}, 0); Atomics.store(tokens, 0, 1) }`
    const changing = new Worker(code, { eval: true, workerData: memory })
    const tokens = new Int32Array(memory)
    try {
      while (Atomics.load(tokens, 0) === 0) await setTimeout(1)
      const row: DatasetSpec = { count: 1, sample: [count - 1], samples: tokens, stride: 1, classes: 2 }
      const windows: OperatorCase = {
        kind: 'load',
        name: 'windows',
        attributes: { padding: 0, border: 0, flip: 0, shuffled: 0, mean: [], std: [] },
        inputs: {},
        outputs: { x: { ...label(2, 1), shape: [1, count - 1] }, target: { ...label(2, 1), shape: [1, count - 1] } }
      }
      for (let accepted = 0; accepted < 20;) {
        let dataset: Handle
        try {
          dataset = engine.createDataset(row)
        } catch (error) {
          expect((error as ArbalestError).code).to.equal('LABEL_OUT_OF_RANGE')
          continue
        }
        accepted++
        const bound = new BoundOperator('cpu', 'f32', windows, { dataset, seed: 1 })
        expect(bound.run({}, 0).outputs['target']!.at(-1)).to.equal(0)
        bound.release()
        engine.release(dataset)
      }
    } finally {
      await changing.terminate()
    }
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

  it('is no snapshot with a count below 0, of a group, its evaluation average, its optimiser or a replica', () => {
    const spec = { backend: 'cpu', layout: program.parameters, initial, batch: 4 } as const
    const central = { kind: 'optimiser' } as const
    const rule = { kind: 'synchronous', central, adopts: true, period: 1, from: 0 } as const
    const adam = { beta1: 0.9, beta2: 0.99, epsilon: 1e-8 }
    const average = { kind: 'lawa', window: 3, from: 0, every: 1 } as const
    const group = engine.createGroup({ ...spec, rule, average, optimiser: adam })
    const captured = engine.captureGroup(group)
    const { vectors, counts } = engine.snapshotParts(captured)
    const whole = { vectors: Object.fromEntries(vectors.map((name) => [name, engine.readSnapshot(captured, name)])), counts }
    expect(Object.keys(counts)).to.include.members(['average.taken', 'averaged', 'central.steps'])
    for (const name of Object.keys(counts)) {
      const harmed = { ...whole, counts: { ...counts, [name]: -1 } }
      expect(
        thrown(() => engine.restoreGroup(group, harmed)),
        name
      ).to.include({ code: 'SHAPE_MISMATCH' })
    }
    const replica = engine.createReplica({ backend: 'cpu', layout: program.parameters, threads: 1, seed: 1 })
    const data = engine.createDataset({ count: 4, sample: [12], samples: new Float32Array(48), labels: new Int32Array(4), classes: 5 })
    engine.bind(replica, engine.createProgram(program), data)
    const parts = { vectors: { weights: initial }, counts: { steps: -1 } }
    expect(thrown(() => engine.restoreReplica(replica, parts)).message).to.include('steps is -1')
  })

  it('is no stream whose classes leave 32 bits, or whose numbers are above what is told', () => {
    const spec = { count: 100, sample: [12], classes: 3, batch: 4, slots: 3 }
    expect(thrown(() => engine.createStream({ ...spec, classes: 2 ** 32 + 3 })).message)
      .to.include('classes')
      .and.include('to 2147483647')
    expect(thrown(() => engine.createStream({ ...spec, count: 2 ** 41 })).message).to.include(`from 1 to ${2 ** 40}`)
  })
})
