import { spawnSync } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { expect } from 'chai'
import { compile } from '../../src/compiler/compile.js'
import { TRANSFER_UNIT } from '../../src/compiler/pack.js'
import type { EngineBackend, Program } from '../../src/compiler/program.js'
import { inOrder } from '../../src/compiler/step.js'
import type { MemoryLimit } from '../../src/compiler/tiers/fit.js'
import type { Handle, HostTierSpec } from '../../src/engine/contract.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { engine } from '../../src/engine/native.js'
import { buildGraph } from '../../src/model/graph-builder.js'
import { initialParameters } from '../../src/model/initialise.js'
import { defineModel, flatten, linear } from '../../src/model/layers.js'
import { refused } from '../support/codes.js'
import { inOwnProcess } from '../support/own-process.js'
import { skip } from '../support/skip.js'
import { forgetfulLayers } from '../support/forgetful-layers.js'
import { DiskFolder } from '../support/disk-folder.js'
import { checkProgram } from '../compiler/support/check-program.js'
import { DEVICE, ofImages, ofTokens, type Training } from './support/device-training.js'
import type { lossesAfterFailedStep } from './support/failed-step.js'

const FAILED_STEP = new URL('./support/failed-step.js', import.meta.url)

const speed = { flopsPerSecond: 1e11, bytesPerSecond: 1e10, cacheBytesPerSecond: 1e10, cacheBytes: 0 }
const transfers = { storeBytesPerSecond: 1e9, fetchBytesPerSecond: 1e9, bothWays: false }

const images = defineModel({ name: 'moving', input: [3, 16, 16], layers: [...forgetfulLayers(), flatten(), linear(10)] })

const TRAININGS: Readonly<Record<string, Training>> = {
  'batch norm and dropout': { ...ofImages(images), batch: 8 },
  'a language model': { ...ofTokens(), batch: 12 }
}

/** Nothing is computed again, so that what is not held is moved. */
const MOVED: Partial<MemoryLimit> = { transfers, only: 'move' }

function compiled(backend: EngineBackend, { model, load, batch }: Training, limit?: MemoryLimit, accumulate = 1): Program {
  const optimiser = { momentum: 0.9, weightDecay: 1e-4, ...(accumulate > 1 && { accumulate }) }
  return compile(model, loweringBackend(engine, backend), {
    batch,
    mode: 'train',
    precision: 'f32',
    load,
    optimiser,
    ...(limit && { limit })
  })
}

/** The step within a part of what may be saved: 0 is the least. */
function within(backend: EngineBackend, training: Training, part: number, ways = MOVED, accumulate = 1): Program {
  const at = (activations: number) => compiled(backend, training, { activations, speed, ...ways }, accumulate)
  const [floor, whole] = [at(0).arenas.activations, compiled(backend, training).arenas.activations]
  return part === 0 ? at(0) : at(Math.ceil(floor + part * (whole - floor)))
}

interface Placed {
  readonly tier?: HostTierSpec
  readonly arenas?: Handle
}

/** The weights after a few steps. */
function trained(backend: EngineBackend, training: Training, program: Program, { tier, arenas }: Placed = {}): Float32Array {
  const { model, load, batch, data, steps, rate } = training
  const weights = initialParameters(buildGraph(model, { batch, mode: 'train', load }), 5)
  const dataset = engine.createDataset(data)
  const layout = program.parameters
  const replica = engine.createReplica({ backend, layout, threads: 1, seed: 3, ...(tier && { tier }), ...(arenas && { arenas }) })
  const handle = engine.createProgram(program)
  try {
    const slot = engine.bind(replica, handle, dataset)
    engine.writeVector(replica, 'weights', weights)
    for (let call = 0; call < 2; call++)
      engine.run(replica, slot, { steps, milliseconds: 60_000, position: steps * call * batch, learningRate: rate })
    return engine.readVector(replica, 'weights') as Float32Array
  } finally {
    for (const each of [replica, handle, dataset]) engine.release(each)
  }
}

const moves = (program: Program): number => inOrder(program.segments).filter(({ kind }) => kind === 'fetch').length

describe('values that are moved to the second tier', function () {
  this.timeout(120_000)

  for (const backend of ['cpu', DEVICE] as const)
    for (const [name, training] of Object.entries(TRAININGS))
      it(`give the same weights, whenever their transfers run: ${name}, ${backend}`, () => {
        const expected = trained(backend, training, compiled(backend, training))
        for (const [part, timing] of [
          [0.5, 'latest'],
          [0.25, 1],
          [0, 'earliest'],
          [0, 'latest'],
          [0, 2]
        ] as const) {
          const program = within(backend, training, part)
          checkProgram(program)
          expect(moves(program)).to.be.above(0)
          expect(inOrder(program.segments).some(({ repeats, kind }) => repeats && kind !== 'reshape')).to.equal(false)
          expect(trained(backend, training, program, { tier: { timing } }), `${part} ${timing}`).to.deep.equal(expected)
        }
      })

  it('may also be computed again, and in steps of several batches', () => {
    const training = TRAININGS['batch norm and dropout']!
    const expected = trained('cpu', training, compiled('cpu', training, undefined, 3))
    const program = within('cpu', training, 0, { transfers }, 3)
    expect(moves(program)).to.be.above(0)
    expect(trained('cpu', training, program, { tier: { timing: 4 } })).to.deep.equal(expected)
  })

  it('are moved to a file without a name', async () => {
    await using folder = await DiskFolder.make()
    const training = TRAININGS['a language model']!
    const program = within('cpu', training, 0)
    const expected = trained('cpu', training, compiled('cpu', training))
    const tier = { folder: folder.path }
    expect(trained('cpu', training, program, { tier })).to.deep.equal(expected)
    const { activations: bytes, staged } = program.arenas
    const arenas = engine.createArenas({ backend: 'cpu', sizes: [bytes], staged, tier })
    expect(await readdir(folder.path)).to.deep.equal([])
    expect(trained('cpu', training, program, { arenas })).to.deep.equal(expected)
    engine.release(arenas)
  })

  it('that could not be written leave a step that is made again from its beginning', async function () {
    if (spawnSync('prlimit', ['--version']).error) return skip(this, 'prlimit, which limits the length of files, is not installed')
    await using folder = await DiskFolder.make()
    const { code, losses, expected } = inOwnProcess(FAILED_STEP, 'lossesAfterFailedStep', folder.path) as ReturnType<
      typeof lossesAfterFailedStep
    >
    expect(code).to.equal('WRITE_FAILED')
    expect(losses).to.deep.equal(expected)
  })

  it('are refused where there is no such tier, and on disks that are none', async () => {
    const training = TRAININGS['a language model']!
    const program = within('cpu', training, 0)
    await refused('INVALID_OPTION', () => trained('cpu', training, program), 'spill: received no folder', 'give one on a disk')
    await using disk = await DiskFolder.make()
    await refused(
      'WRITE_FAILED',
      () => engine.createArenas({ backend: 'cpu', sizes: [64], staged: 2 ** 50, tier: { folder: disk.path } }),
      'No space left on device',
      'free some there'
    )
    const attempt = (folder: string) => trained('cpu', training, program, { tier: { folder } })
    await refused('INVALID_OPTION', () => attempt('/dev/shm'), 'spill: received /dev/shm; its files lie in memory')
    await refused('INVALID_OPTION', () => attempt('/nowhere/at/all'), 'No such file or directory', 'give a folder on a disk')
    await refused('INVALID_OPTION', () => attempt(import.meta.filename), 'it is a file')
  })

  it('must be moved by operators that fit together', async () => {
    const training = TRAININGS['a language model']!
    const program = within('cpu', training, 0)
    const [store] = inOrder(program.segments).filter(({ kind }) => kind === 'store')
    const staged = program.values[store!.outputs[0]!]!
    const changed = (change: (program: Mutable) => void): Program => {
      const copy = structuredClone(program) as unknown as Mutable
      change(copy)
      return copy as unknown as Program
    }
    const cases: readonly (readonly [string, (program: Mutable) => void])[] = [
      ['are never settled', ({ segments }) => drop(segments, 'settle')],
      ['waits for a transfer that is not under way', ({ segments }) => drop(segments, 'fetch')],
      ['stands outside of forward and backward', ({ segments }) => segments.load.push({ ...store! })],
      ['does not lie in whole units', ({ values }) => (values[staged.id]!.placement.offset += 64)],
      ['of the wrong tier', ({ values }) => (values[staged.id]!.placement = { arena: 'activations', offset: 0 })],
      ['of the second tier; fetch it first', ({ segments }) => segments.forward.push({ ...store!, kind: 'relu', inputs: [staged.id] })],
      ['stands for a value of the second tier', ({ named }) => (named['moved'] = staged.id)],
      ['a second time', ({ segments }) => segments.forward.push({ ...store! })]
    ]
    for (const [words, change] of cases) await refused('INVALID_PROGRAM', () => engine.createProgram(changed(change)), words)
    expect(staged.placement.offset % TRANSFER_UNIT).to.equal(0)
  })
})

interface Mutable {
  readonly values: { placement: { arena: string; offset: number } }[]
  readonly segments: Record<'load' | 'forward' | 'backward', { kind: string; inputs: readonly number[] }[]>
  readonly named: Record<string, number>
}

/** Without the first operator of a kind. */
function drop(segments: Mutable['segments'], kind: string): void {
  for (const operators of [segments.forward, segments.backward]) {
    const at = operators.findIndex((operator) => operator.kind === kind)
    if (at < 0) continue
    operators.splice(at, 1)
    return
  }
}
