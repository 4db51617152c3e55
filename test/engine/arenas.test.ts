import { expect } from 'chai'
import { compile } from '../../src/compiler/compile.js'
import type { Program } from '../../src/compiler/program.js'
import { Random } from '../../src/data/random.js'
import type { Handle, ReplicaSpec } from '../../src/engine/contract.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { sma } from '../../src/rules/sma.js'
import { buildGraph } from '../../src/model/graph-builder.js'
import { initialParameters } from '../../src/model/initialise.js'
import { modelNamed } from '../../src/model/zoo/index.js'
import { refused } from '../support/codes.js'
import { inOwnProcess } from '../support/own-process.js'
import type { lossesAfterRefusedBind } from './support/refused-bind.js'
import type { lossesAfterWrittenValue } from './support/written-value.js'

const REFUSED_BIND = new URL('./support/refused-bind.js', import.meta.url)
const WRITTEN_VALUE = new URL('./support/written-value.js', import.meta.url)

const LEARNERS = 4
const BATCH = 4
const backend = 'cpu'
const model = modelNamed('resnet20', { input: [3, 16, 16], classes: 10 })
const compiled = (batch: number): Program =>
  compile(model, loweringBackend(engine, backend), { batch, mode: 'train', precision: 'f32', optimiser: { momentum: 0.9 } })
const program = compiled(BATCH)
const bytes = program.arenas.activations
const random = new Random(1)
const samples = Uint8Array.from({ length: 64 * 3 * 16 * 16 }, () => random.below(256))

interface Learners {
  readonly group: Handle
  readonly replicas: readonly { readonly replica: Handle; readonly slot: number }[]
}

describe('replicas that share arenas', () => {
  const held: Handle[] = []
  const hold = (handle: Handle): Handle => (held.push(handle), handle)
  after(() => held.forEach((handle) => engine.release(handle)))
  const dataset = hold(
    engine.createDataset({
      count: 64,
      sample: [3, 16, 16],
      samples,
      labels: Int32Array.from({ length: 64 }, (_, i) => i % 10),
      classes: 10
    })
  )
  const arenasOf = (count: number) => hold(engine.createArenas({ backend, sizes: Array.from({ length: count }, () => bytes) }))

  function learners(shared: Pick<ReplicaSpec, 'arenas'>, trained = program): Learners {
    const { batch, parameters: layout } = trained
    const initial = initialParameters(buildGraph(model, { batch, mode: 'train' }), 3)
    const optimiser = trained.segments.update[0]!.attributes
    const rule = sma({}, { learners: LEARNERS })
    const group = hold(engine.createGroup({ backend, layout, initial, batch, rule, optimiser }))
    engine.setLearningRates(group, 0, Float32Array.of(0.05))
    const replicas = Array.from({ length: LEARNERS }, (_, learner) => {
      engine.join(group, learner)
      const replica = hold(engine.createReplica({ backend, layout, threads: 1, seed: 1, group, learner, ...shared }))
      return { replica, slot: engine.bind(replica, hold(engine.createProgram(trained)), dataset) }
    })
    return { group, replicas }
  }

  /** Every learner takes a step in turn, so many times. */
  function train({ group, replicas }: Learners, steps: number): Float32Array | Float64Array {
    for (let step = 0; step < steps; step++)
      for (const { replica, slot } of replicas)
        expect(engine.run(replica, slot, { steps: 1, milliseconds: 60_000 })).to.include({ outcome: 'ran', steps: 1 })
    return engine.readCentral(group)
  }

  it('train as they do apart, bit for bit', () => {
    const [together, apart] = [learners({ arenas: arenasOf(2) }), learners({})]
    expect(train(together, 6)).to.deep.equal(train(apart, 6))
    expect(engine.losses(together.group, 0)).to.deep.equal(engine.losses(apart.group, 0))
  })

  /** The process's memory that learners of a large program take when they train, in arenas of theirs, where they share so many. */
  function taken(count: number): number {
    const large = compiled(64)
    const arenas = hold(engine.createArenas({ backend, sizes: Array.from({ length: count }, () => large.arenas.activations) }))
    const all = learners({ arenas }, large)
    const before = process.memoryUsage.rss()
    train(all, 2)
    return (process.memoryUsage.rss() - before) / large.arenas.activations
  }

  it('take memory for those arenas alone that are used: one where one learner computes at a time, one each where there are enough', () => {
    const [one, oneOfTwo, oneEach] = [taken(1), taken(2), taken(LEARNERS)]
    expect(one).above(0.5)
    expect(oneOfTwo - one).within(-0.5, 0.5)
    expect(oneEach - one).within(LEARNERS - 1.5, LEARNERS - 0.5)
  })

  it('refuse to read what lies there no more, and keep parameters and vectors readable', async () => {
    const { replicas } = learners({ arenas: arenasOf(1) })
    const [{ replica, slot }] = replicas as [Learners['replicas'][number]]
    engine.run(replica, slot, { steps: 1, milliseconds: 60_000 })
    await refused('INVALID_STATE', () => engine.readValue(replica, slot, 'output'), 'output', 'shares')
    expect(engine.readValue(replica, slot, 'fc.bias')).to.have.length(10)
    expect(engine.readVector(replica, 'gradients').some((value) => value !== 0)).to.equal(true)
  })

  it('have activations of their own once they run segments, bind a second program or are written a value', () => {
    const others: readonly ((learner: Learners['replicas'][number]) => void)[] = [
      ({ replica, slot }) => expect(engine.runSegment(replica, slot, 'load')).to.equal('ran'),
      ({ replica }) => void engine.bind(replica, hold(engine.createProgram(program)), dataset),
      ({ replica, slot }) => engine.writeValue(replica, slot, 'loss', Float32Array.of(0))
    ]
    for (const goesApart of others) {
      const arenas = arenasOf(1)
      const [apart, together] = [learners({}), learners({ arenas })]
      goesApart(together.replicas[1]!)
      goesApart(apart.replicas[1]!)
      const [first, ...rest] = together.replicas
      for (const { replicas } of [apart, together])
        for (const segment of ['load', 'forward', 'backward', 'exchange', 'update'] as const)
          expect(engine.runSegment(replicas[1]!.replica, replicas[1]!.slot, segment)).to.equal('ran')
      expect(engine.readValue(rest[0]!.replica, rest[0]!.slot, 'output')).to.deep.equal(
        engine.readValue(apart.replicas[1]!.replica, apart.replicas[1]!.slot, 'output')
      )
      expect(engine.run(first!.replica, first!.slot, { steps: 1, milliseconds: 60_000 }).outcome).to.equal('ran')
    }
  })

  it('compute with all their threads once they are written a value by a thread that has run a replica with fewer', () => {
    const [expected, found] = inOwnProcess(WRITTEN_VALUE, 'lossesAfterWrittenValue') as ReturnType<typeof lossesAfterWrittenValue>
    expect(found).closeTo(expected!, 1e-5 * expected!)
  })

  it('are given activations of their own for a program that is too large', () => {
    const arenas = hold(engine.createArenas({ backend, sizes: [bytes - 64] }))
    const { replicas } = learners({ arenas })
    engine.run(replicas[0]!.replica, replicas[0]!.slot, { steps: 1, milliseconds: 60_000 })
    // An arena's values cannot be read.
    expect(engine.readValue(replicas[0]!.replica, replicas[0]!.slot, 'output')).to.have.length(10 * BATCH)
  })

  for (const [shares, wanted] of [
    [true, 'activations'],
    [true, 'staged'],
    [false, 'activations'],
    [false, 'staged']
  ] as const)
    it(`keep their memory if a second program is refused for too many ${wanted} bytes, ${shares ? 'in an arena' : 'of their own'}`, () => {
      const { code, losses, expected } = inOwnProcess(REFUSED_BIND, 'lossesAfterRefusedBind', wanted, shares) as ReturnType<
        typeof lossesAfterRefusedBind
      >
      expect(code).to.equal('OUT_OF_MEMORY')
      expect(losses).to.deep.equal(expected)
    })

  it('are refused where there is none', async () => {
    await refused('INVALID_OPTION', () => engine.createArenas({ backend, sizes: [] }), 'sizes', 'received 0')
    await refused('INVALID_OPTION', () => engine.createArenas({ backend, sizes: [-1] }), 'sizes', 'received -1')
    await refused('STALE_HANDLE', () => learners({ arenas: dataset }), 'data set', 'arenas')
  })
})
