import { expect } from 'chai'
import { compile } from '../../src/compiler/compile.js'
import type { OptimiserAttributes } from '../../src/compiler/optimiser.js'
import type { GroupSpec, MemoryCount } from '../../src/engine/contract.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { downpour } from '../../src/rules/downpour.js'
import { hogwild } from '../../src/rules/hogwild.js'
import { localSgd } from '../../src/rules/local-sgd.js'
import { slowmo } from '../../src/rules/slowmo.js'
import { sma } from '../../src/rules/sma.js'
import { ssgd } from '../../src/rules/ssgd.js'
import { randomSamples, SMALL_MODEL, smallTraining } from './support/small-training.js'

const LIMIT = 'ARBALEST_CUDA_HOST_MEMORY'

describe('The memory that the engine counts', () => {
  /** Of a group and a replica that is bound to a training step, and what they really take of the stand-in's device, in bytes. */
  function countedAndTaken(optimiser: OptimiserAttributes, group: Pick<GroupSpec, 'rule'> & Partial<GroupSpec>) {
    const backend = 'cuda-host'
    const { program, initial } = smallTraining(backend, optimiser)
    const handle = engine.createProgram(program)
    const spec = { backend, layout: program.parameters, batch: 4, optimiser: program.segments.update[0]!.attributes, ...group } as const
    const count = engine.countMemory({ backend, programs: [handle], group: spec })

    const free = (): number => engine.freeMemory(backend, 1, 0)!
    let before = free()
    const taken = (): number => {
      const bytes = before - free()
      before = free()
      return bytes
    }
    const dataset = randomSamples(20)
    const warm = engine.createReplica({ backend, layout: program.parameters, threads: 1, seed: 1 })
    // The copy of the data set lies on the device from the first replica on.
    engine.bind(warm, handle, dataset)
    taken()
    const made = engine.createGroup({ ...spec, initial })
    const ofGroup = taken()
    engine.join(made, 0)
    const ofMember = taken()
    engine.roundFigures(made, -1)
    const ofRecording = taken()
    engine.join(made, 1)
    const ofRecorded = taken()
    const replica = engine.createReplica({ backend, layout: program.parameters, threads: 1, seed: 1, group: made, learner: 0 })
    engine.bind(replica, handle, dataset)
    const ofReplica = taken()
    const copies = [engine.captureGroup(made), engine.captureReplica(replica)]
    const ofSnapshots = taken()
    for (const each of [...copies, replica, made, warm, dataset, handle]) engine.release(each)
    return { count, taken: { ofGroup, ofMember, ofRecording, ofRecorded, ofReplica, ofSnapshots } }
  }

  const sum = (replica: MemoryCount['replica']): number => Object.values(replica).reduce((all, bytes) => all + bytes, 0)
  /** The device rounds each vector up to lines of 64 bytes. */
  const LINES = 64 * 8

  before(() => void (process.env[LIMIT] = String(2 ** 40)))
  after(() => delete process.env[LIMIT])

  for (const [name, optimiser, group] of [
    ['sma', { momentum: 0.9 }, { rule: sma({}, { learners: 2 }) }],
    ['sma without momentum', {}, { rule: sma({}, { learners: 2 }) }],
    ['sma with Adam', { name: 'adam', beta1: 0.9, beta2: 0.99, epsilon: 1e-8 }, { rule: sma({}, { learners: 2 }) }],
    ['sma over several batches', { momentum: 0.9, accumulate: 3 }, { rule: sma({}, { learners: 2 }) }],
    ['ssgd', { momentum: 0.9 }, { rule: ssgd({}) }],
    ['local SGD', { momentum: 0.9 }, { rule: localSgd({ period: 2 }) }],
    ['slowmo', { momentum: 0.9 }, { rule: slowmo({}) }],
    ['an average', { momentum: 0.9 }, { rule: sma({}, { learners: 2 }), average: { kind: 'lawa', window: 3, from: 0, every: 1 } }],
    ['hosts', { momentum: 0.9 }, { rule: sma({}, { learners: 2 }), levels: [{ kind: 'loopback', latency: 0 }] }]
  ] as const)
    it(`is what is really taken: ${name}`, () => {
      const { count, taken } = countedAndTaken(optimiser, group)
      expect(taken.ofGroup).to.be.within(count.group[0]!, count.group[0]! + LINES)
      expect(taken.ofMember).to.be.within(count.contribution, count.contribution + 64)
      expect(taken.ofRecording).to.be.within(count.recording, count.recording + 64)
      expect(taken.ofRecorded).to.be.within(taken.ofMember + count.recording, taken.ofMember + count.recording + 64)
      expect(taken.ofReplica).to.be.within(sum(count.replica), sum(count.replica) + LINES)
      expect(taken.ofSnapshots).to.be.within(count.snapshot, count.snapshot + count.group[0]! + LINES)
    })

  it('is that of each device where devices have memories of their own', () => {
    const { program } = smallTraining('cuda-host', { momentum: 0.9 })
    const handle = engine.createProgram(program)
    const { bytes } = program.parameters
    const group = {
      layout: program.parameters,
      batch: 4,
      rule: sma({}, { learners: 2 }),
      devices: 2,
      levels: [{ kind: 'devices' }]
    } as const
    // Two central models, the sum of the device's learners, and the sum of all.
    const separate = engine.countMemory({ backend: 'cuda-host', programs: [handle], group: { ...group, backend: 'cuda-host' } })
    expect(separate.group).to.deep.equal([4 * bytes, 4 * bytes])
    const shared = engine.countMemory({ backend: 'cpu', programs: [handle], group: { ...group, backend: 'cpu' } })
    expect(shared.group).to.deep.equal([7 * bytes])
    engine.release(handle)
  })

  it('has the bytes that an update moves, by optimiser and rule', () => {
    const vectors = (optimiser: OptimiserAttributes, rule: GroupSpec['rule']) => {
      const { program } = smallTraining('cpu', optimiser)
      const handle = engine.createProgram(program)
      const group = {
        backend: 'cpu',
        layout: program.parameters,
        batch: 4,
        rule,
        optimiser: program.segments.update[0]!.attributes
      } as const
      const { update } = engine.countMemory({ backend: 'cpu', programs: [handle], group })
      engine.release(handle)
      return update / program.parameters.bytes
    }
    const rule = sma({}, { learners: 1 })
    // Weights and each state are read and written, gradients and the central model are read, the correction is written.
    expect(vectors({}, rule)).to.equal(5)
    expect(vectors({ momentum: 0.9 }, rule)).to.equal(7)
    expect(vectors({ name: 'adam', beta1: 0.9, beta2: 0.99, epsilon: 1e-8 }, rule)).to.equal(9)
    expect(vectors({ name: 'rmsprop' }, rule)).to.equal(7)
    expect(vectors({ name: 'rmsprop', momentum: 0.9 }, rule)).to.equal(9)
    expect(vectors({ momentum: 0.9 }, localSgd({ period: 2 })), 'writes no contribution: learners rest at their own weights').to.equal(5)
    expect(vectors({ momentum: 0.9 }, ssgd({}))).to.equal(5)
    expect(vectors({ momentum: 0.9 }, downpour({ period: 1 }))).to.equal(7)
    expect(vectors({ momentum: 0.9 }, hogwild({}))).to.equal(5)
  })

  it('of learners in place has no weights, which are the central model', () => {
    const { program } = smallTraining('cpu', { momentum: 0.9 })
    const handle = engine.createProgram(program)
    const { bytes } = program.parameters
    const count = engine.countMemory({
      backend: 'cpu',
      programs: [handle],
      group: { backend: 'cpu', layout: program.parameters, batch: 4, rule: hogwild({}) }
    })
    expect(count).to.deep.include({ group: [bytes], contribution: 0, recording: 0 })
    expect(count.replica).to.include({ weights: 0, gradients: bytes, optimiser: bytes })
    engine.release(handle)
  })

  it('of a replica that evaluates is that of its largest program', () => {
    const { program } = smallTraining('cpu', { momentum: 0.9 })
    const { parameters } = program
    const compiled = [1, 8].map((batch) =>
      compile(SMALL_MODEL, loweringBackend(engine, 'cpu'), { mode: 'predict', batch, precision: 'f32', parameters })
    )
    const programs = compiled.map((each) => engine.createProgram(each))
    const count = engine.countMemory({ backend: 'cpu', programs })
    expect(count).to.deep.include({ group: [], contribution: 0, recording: 0, snapshot: 0, update: 0 })
    const activations = Math.max(...compiled.map(({ arenas }) => arenas.activations))
    expect(count.replica).to.deep.equal({ weights: parameters.bytes, gradients: 0, optimiser: 0, statistics: 0, activations })
    for (const each of programs) engine.release(each)
  })
})
