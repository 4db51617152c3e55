import { readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { compile } from '../../src/compiler/compile.js'
import type { OptimiserAttributes } from '../../src/compiler/optimiser.js'
import type { EngineBackend, Program } from '../../src/compiler/program.js'
import { inOrder } from '../../src/compiler/step.js'
import type { GroupRule, HostTierSpec } from '../../src/engine/contract.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { buildGraph } from '../../src/model/graph-builder.js'
import { initialParameters } from '../../src/model/initialise.js'
import { defineModel, flatten, linear } from '../../src/model/layers.js'
import { checkProgram } from '../compiler/support/check-program.js'
import { refused } from '../support/codes.js'
import { DiskFolder } from '../support/disk-folder.js'
import { forgetfulLayers } from '../support/forgetful-layers.js'
import { inOwnProcess } from '../support/own-process.js'
import { DEVICE, ofImages, ofTokens, type Training } from './support/device-training.js'
import type { weightsAfterLargerBind } from './support/vectors-under-way.js'

const UNDER_WAY = new URL('./support/vectors-under-way.js', import.meta.url)

const images = defineModel({ name: 'moving', input: [3, 16, 16], layers: [...forgetfulLayers(), flatten(), linear(10)] })
const TRAININGS: Readonly<Record<string, Training>> = { 'batch norm and dropout': ofImages(images), 'a language model': ofTokens() }

const OPTIMISERS: Readonly<Record<string, OptimiserAttributes>> = {
  momentum: { momentum: 0.9, weightDecay: 1e-4 },
  adamw: { name: 'adamw' },
  rmsprop: { name: 'rmsprop' },
  'momentum over several batches': { momentum: 0.9, accumulate: 3 }
}

interface Case {
  readonly backend: EngineBackend
  readonly training: Training
  readonly optimiser: OptimiserAttributes
  /** Which vectors lie in the second tier. */
  readonly moved?: 'states' | 'all'
  readonly tier?: HostTierSpec
  /** That of the group in which the replica trains. */
  readonly rule?: GroupRule
}

function compiled({ backend, training: { model, load, batch }, optimiser, moved }: Case): Program {
  const program = compile(model, loweringBackend(engine, backend), {
    batch,
    mode: 'train',
    precision: 'f32',
    load,
    optimiser,
    ...(moved === 'all' && { vectors: 'host' as const })
  })
  checkProgram(program)
  return program
}

/** Weights and states of the optimiser after a few steps, of which some begin where a snapshot was taken. */
function trained(given: Case): Float32Array[] {
  const { backend, training, moved, tier = {}, rule } = given
  const { model, load, batch, data, steps, rate } = training
  const program = compiled(given)
  const layout = program.parameters
  const weights = initialParameters(buildGraph(model, { batch, mode: 'train', load }), 5)
  const dataset = engine.createDataset(data)
  const handle = engine.createProgram(program)
  const vectors = engine.createMovedVectors({ backend, layout, tier })
  const use = moved && { moved: { vectors, all: moved === 'all' } }
  const optimiser = program.segments.update[0]!.attributes
  const held = [dataset, handle, vectors]
  const own = <Handle extends number>(made: Handle): Handle => {
    held.unshift(made)
    return made
  }
  try {
    const group = rule && own(engine.createGroup({ backend, layout, initial: weights, batch, rule, optimiser, ...use }))
    const inGroup = group !== undefined && { group, learner: 0 }
    const replica = own(engine.createReplica({ backend, layout, threads: 1, seed: 3, ...use, ...inGroup }))
    const slot = engine.bind(replica, handle, dataset)
    if (group !== undefined) {
      engine.setLearningRates(group, 0, new Float32Array(4 * steps).fill(rate))
      engine.join(group, 0)
    } else engine.writeVector(replica, 'weights', weights)
    for (let call = 0; call < 3; call++) {
      const { outcome } = engine.run(replica, slot, { steps, milliseconds: 60_000, position: steps * call * batch, learningRate: rate })
      expect(outcome).to.equal('ran')
    }
    const snapshot = own(engine.captureReplica(replica))
    const saved = engine.snapshotParts(snapshot).vectors.map((name) => engine.readSnapshot(snapshot, name) as Float32Array)
    return [...saved, ...(group === undefined ? [] : [engine.readCentral(group) as Float32Array])]
  } finally {
    for (const each of held) engine.release(each)
  }
}

/** Twenty learners of a small model: more vectors than the windows of all of them have room for. */
function trainedByMany(rule: GroupRule, tier?: HostTierSpec): Float32Array {
  const training = TRAININGS['a language model']!
  const given = { backend: 'cpu', training, optimiser: OPTIMISERS['momentum']!, ...(tier && { moved: 'all' as const }) } as const
  const program = compiled(given)
  const { parameters: layout } = program
  const { model, load, batch, data, rate } = training
  const initial = initialParameters(buildGraph(model, { batch, mode: 'train', load }), 5)
  const [dataset, handle] = [engine.createDataset(data), engine.createProgram(program)]
  const vectors = tier && engine.createMovedVectors({ backend: 'cpu', layout, tier })
  const use = vectors !== undefined && { moved: { vectors, all: true } }
  const optimiser = program.segments.update[0]!.attributes
  const group = engine.createGroup({ backend: 'cpu', layout, initial, batch, rule, optimiser, ...use })
  engine.setLearningRates(group, 0, Float32Array.of(rate))
  const replicas = Array.from({ length: 20 }, (_, learner) =>
    engine.createReplica({ backend: 'cpu', layout, threads: 1, seed: 3, ...use, group, learner })
  )
  try {
    const slots = replicas.map((replica, learner) => {
      engine.join(group, learner)
      return engine.bind(replica, handle, dataset)
    })
    for (let step = 0; step < 2; step++)
      for (const [learner, replica] of replicas.entries())
        expect(engine.run(replica, slots[learner]!, { steps: 1, milliseconds: 60_000 }).outcome).to.equal('ran')
    return engine.readCentral(group) as Float32Array
  } finally {
    for (const each of [...replicas, group, ...(vectors === undefined ? [] : [vectors]), dataset, handle]) engine.release(each)
  }
}

const moves = (program: Program): number => inOrder(program.segments).filter(({ kind }) => kind === 'fetch' || kind === 'store').length

const synchronous = { kind: 'synchronous', period: 1, from: 0 } as const
const RULES: Readonly<Record<string, GroupRule>> = {
  sma: { ...synchronous, adopts: false, central: { kind: 'sma', alpha: null, momentum: 0.9 } },
  ssgd: { ...synchronous, adopts: true, central: { kind: 'optimiser' } },
  'diloco, every round': {
    ...synchronous,
    adopts: true,
    central: { kind: 'outer', learningRate: 0.7, momentum: 0.9, nesterov: true, perLearningRate: false }
  },
  updates: { ...synchronous, adopts: true, central: { kind: 'updates', slack: 0, latest: false, readMyWrites: false } },
  hogwild: { kind: 'asynchronous', slack: null, period: 1, exchange: { kind: 'inPlace' } }
}

describe('vectors in the second tier', function () {
  this.timeout(120_000)

  for (const backend of ['cpu', DEVICE] as const)
    for (const [named, training] of Object.entries(TRAININGS))
      for (const [name, optimiser] of Object.entries(OPTIMISERS))
        it(`give the same weights, whenever their transfers run: ${named}, ${name}, ${backend}`, () => {
          const given = { backend, training, optimiser }
          const expected = trained(given)
          for (const moved of ['states', 'all'] as const)
            for (const timing of ['earliest', 'latest', 7] as const)
              expect(trained({ ...given, moved, tier: { timing } }), `${moved} ${timing}`).to.deep.equal(expected)
        })

  for (const [name, rule] of Object.entries(RULES))
    it(`may be those of a group, too: ${name}`, () => {
      const given = { backend: 'cpu', training: TRAININGS['a language model']!, optimiser: OPTIMISERS['momentum']!, rule } as const
      const expected = trained(given)
      for (const moved of ['states', 'all'] as const)
        expect(trained({ ...given, moved, tier: { timing: 3 } }), moved).to.deep.equal(expected)
    })

  for (const central of [{ kind: 'optimiser' }, { kind: 'sma', alpha: null, momentum: 0.9 }] as const)
    it(`may be as many as a sum over many learners takes: ${central.kind}`, () => {
      const expected = trainedByMany({ ...synchronous, adopts: central.kind === 'optimiser', central })
      expect(trainedByMany({ ...synchronous, adopts: central.kind === 'optimiser', central }, { timing: 5 })).to.deep.equal(expected)
    })

  for (const backend of ['cpu', DEVICE] as const) {
    it(`are no longer under way when activations move for a larger program: ${backend}`, () => {
      const { count, different } = inOwnProcess(UNDER_WAY, 'weightsAfterLargerBind', backend) as ReturnType<typeof weightsAfterLargerBind>
      expect(count).to.be.above(0)
      expect(different).to.equal(0)
    })

    it(`are no longer under way when a replica is released between two segments: ${backend}`, () => {
      expect(inOwnProcess(UNDER_WAY, 'releasedDuringFetch', backend)).to.equal(6)
    })
  }

  it('lie in files without names', async () => {
    await using folder = await DiskFolder.make()
    const given = { backend: 'cpu', training: TRAININGS['a language model']!, optimiser: OPTIMISERS['adamw']! } as const
    for (const moved of ['states', 'all'] as const)
      expect(trained({ ...given, moved, tier: { folder: folder.path } }), moved).to.deep.equal(trained(given))
    expect(await readdir(folder.path)).to.deep.equal([])
  })

  it('are fetched and stored one parameter at a time, in less memory than all of them', () => {
    const given = { backend: 'cpu', training: TRAININGS['a language model']!, optimiser: OPTIMISERS['adamw']! } as const
    const [whole, moved] = [compiled(given), compiled({ ...given, moved: 'all' })]
    expect(moves(whole)).to.equal(0)
    expect(moves(moved)).to.be.at.least(2 * moved.parameters.parameters.length)
    expect(moved.arenas.activations - whole.arenas.activations).to.be.below(moved.parameters.bytes)
  })

  it('are not counted in the memory of the device, but for their windows', () => {
    const training = TRAININGS['a language model']!
    const counted = (moved?: 'states' | 'all') => {
      const program = compiled({ backend: 'cpu', training, optimiser: OPTIMISERS['adamw']!, ...(moved && { moved }) })
      const handle = engine.createProgram(program)
      const group = { backend: 'cpu', layout: program.parameters, batch: 4, rule: RULES['sma']! } as const
      try {
        return {
          bytes: program.parameters.bytes,
          ...engine.countMemory({ backend: 'cpu', programs: [handle], group, ...(moved && { moved }) })
        }
      } finally {
        engine.release(handle)
      }
    }
    const { bytes, replica, group, windows, contribution } = counted()
    expect([replica.optimiser, replica.weights, replica.gradients, group[0], contribution, windows]).to.deep.equal([
      2 * bytes,
      bytes,
      bytes,
      2 * bytes,
      bytes,
      0
    ])
    const states = counted('states')
    expect([states.replica.optimiser, states.replica.weights, states.group[0]]).to.deep.equal([0, bytes, 2 * bytes])
    const all = counted('all')
    expect([all.replica.optimiser, all.replica.weights, all.replica.gradients, all.group[0], all.contribution]).to.deep.equal([
      0, 0, 0, 0, 0
    ])
    // Weights, gradients, two moments and the correction; the copies of a checkpoint have windows, too.
    const own = 3 * 4096
    expect([states.learnerWindows, all.learnerWindows, all.snapshot, all.copyWindows]).to.deep.equal([2 * own, 5 * own, 3 * own, 2 * own])
    expect(all.windows).to.be.above(0)
  })

  it('are refused where there is no such tier, with levels, and for programs that were compiled otherwise', async () => {
    const given = { backend: 'cpu', training: TRAININGS['a language model']!, optimiser: OPTIMISERS['momentum']! } as const
    await refused('INVALID_OPTION', () => trained({ ...given, moved: 'states' }), 'spill: received no folder')
    await refused('INVALID_OPTION', () => trained({ ...given, moved: 'all', tier: { folder: '/dev/shm' } }), 'its files lie in memory')
    const program = compiled({ ...given, moved: 'all' })
    const handle = engine.createProgram(program)
    const dataset = engine.createDataset(given.training.data)
    const replica = engine.createReplica({ backend: 'cpu', layout: program.parameters, threads: 1, seed: 3 })
    await refused('INVALID_PROGRAM', () => engine.bind(replica, handle, dataset), 'compile it for that')
    const vectors = engine.createMovedVectors({ backend: 'cpu', layout: program.parameters, tier: { timing: 'latest' } })
    await refused(
      'INVALID_OPTION',
      () =>
        engine.createGroup({
          backend: 'cpu',
          layout: program.parameters,
          initial: new Float32Array(program.parameters.elements),
          batch: 4,
          rule: RULES['sma']!,
          devices: 2,
          levels: [{ kind: 'devices' }],
          moved: { vectors, all: true }
        }),
      'levels: received some for vectors that lie in the second tier'
    )
    for (const each of [replica, handle, dataset, vectors]) engine.release(each)
  })
})
