import { expect } from 'chai'
import * as fc from 'fast-check'
import { compile } from '../../../src/compiler/compile.js'
import type { LoweredOperator, Program } from '../../../src/compiler/program.js'
import { inOrder } from '../../../src/compiler/step.js'
import type { MemoryLimit } from '../../../src/compiler/tiers/fit.js'
import { restorationOf } from '../../../src/compiler/tiers/restoration.js'
import type { Model } from '../../../src/model/model.js'
import { modelNamed } from '../../../src/model/zoo/index.js'
import { FakeLowering } from '../../fakes/lowering.js'
import { thrown } from '../../support/thrown.js'
import { checkProgram } from '../support/check-program.js'
import { randomModel } from '../support/random-model.js'
import { randomSequenceModel } from '../support/random-sequence-model.js'
import { simulate } from '../support/simulate.js'

const speed = { flopsPerSecond: 1e11, bytesPerSecond: 1e10, cacheBytesPerSecond: 1e10, cacheBytes: 0 }

const anyStep = fc.record({
  model: fc.oneof(randomModel({ layers: 5 }), randomSequenceModel()),
  batch: fc.integer({ min: 2, max: 5 }),
  precision: fc.constantFrom('f32', 'bf16'),
  together: fc.boolean()
})

const transfers = { storeBytesPerSecond: 1e9, fetchBytesPerSecond: 1e9, bothWays: false }
const anyWays = fc.constantFrom<Pick<MemoryLimit, 'transfers' | 'only'>>({}, { transfers, only: 'move' }, { transfers })

describe('a step within a limit of memory', () => {
  it('keeps every promise of a Program, and its original operators as they are', () => {
    let [smaller, moved] = [0, 0]
    fc.assert(
      fc.property(anyStep, fc.constantFrom(0.75, 0.5, 0.25, 0), anyWays, ({ model, together, batch, ...options }, part, ways) => {
        // Values of a few bytes are not worth a unit.
        const samples = 'transfers' in ways ? 30 * batch : batch
        const compiled = (limit?: number): Program =>
          compile(model, new FakeLowering(together), {
            ...options,
            batch: samples,
            mode: 'train',
            load: { mean: [0], std: [1] },
            ...(limit !== undefined && { limit: { activations: limit, speed, ...ways } })
          })
        const whole = compiled()
        const bytes = whole.arenas.activations
        const limit = Math.max(Math.floor(part * bytes), compiled(0).arenas.activations)
        const program = compiled(limit)
        expect(program.arenas.activations).to.be.at.most(limit)
        checkProgram(program)
        simulate(program)
        expect(originals(program)).to.deep.equal(originals(whole))
        expect(program.values.slice(0, whole.values.length).map(({ placement: _, ...value }) => value)).to.deep.equal(
          whole.values.map(({ placement: _, ...value }) => value)
        )
        const { staged } = program.arenas
        expect({ ...program.arenas, activations: 0 }).to.deep.equal({ ...whole.arenas, activations: 0, staged })
        if (ways.only === 'move') expect(repeated(program).filter(({ kind }) => kind !== 'reshape')).to.deep.equal([])
        if (!('transfers' in ways)) expect(staged).to.equal(0)
        if (program.arenas.activations < bytes) smaller++
        if (staged > 0) moved++
      }),
      { seed: 24, numRuns: 44 }
    )
    expect(smaller).to.be.above(20)
    expect(moved).to.be.above(10)
  })

  it('takes at the least no more where it may also move values than where it may not', () => {
    fc.assert(
      fc.property(anyStep, ({ model, batch, together, precision }) => {
        const least = (ways: Pick<MemoryLimit, 'transfers' | 'only'>) =>
          compile(model, new FakeLowering(together), {
            batch: 8 * batch,
            mode: 'train',
            precision,
            limit: { activations: 0, speed, ...ways }
          }).arenas.activations
        expect(least({ transfers })).to.be.at.most(Math.min(least({}), least({ transfers, only: 'move' })))
      }),
      { seed: 7, numRuns: 30 }
    )
  })

  it('computes nothing twice where it fits', () => {
    const model = modelNamed('resnet20', { input: [3, 32, 32], classes: 10 })
    const options = { batch: 4, mode: 'train', precision: 'f32' } as const
    const whole = compile(model, new FakeLowering(), options)
    const limit = { activations: whole.arenas.activations, speed }
    expect(compile(model, new FakeLowering(), { ...options, limit })).to.deep.equal(whole)
  })

  it('repeats operators of the forward pass before what reads them in the backward pass', () => {
    const program = resnet(0.5)
    const again = repeated(program)
    expect(again.length).to.be.above(0)
    for (const { name, kind, implementation } of again) {
      const original = program.segments.forward.find((operator) => `${operator.name}.again` === name && operator.kind === kind)
      expect(original, name).to.include({ implementation })
    }
    expect(program.segments.forward.some(({ repeats }) => repeats)).to.equal(false)
  })

  it('takes more time, the less it holds', () => {
    const flops = (program: Program) => inOrder(program.segments).reduce((sum, operator) => sum + operator.flops, 0)
    const [three, two, one] = [0.8, 0.6, 0.4].map((part) => flops(resnet(part)))
    expect(one).to.be.above(two!)
    expect(two).to.be.above(three!)
  })

  it('takes at most 1.02 times the predicted time of computing again alone, and of moving alone', () => {
    const whole = compile(model, new FakeLowering(), STEP).arenas.activations
    for (const [part, rate] of [
      [0.75, 1e9],
      [0.5, 1e9],
      [0.5, 1e10],
      [0.4, 4e9]
    ] as const) {
      const rates = { storeBytesPerSecond: rate, fetchBytesPerSecond: rate, bothWays: false }
      const [recomputing, moving, both] = (['recompute', 'move', undefined] as const).map((only) => {
        const limit = { activations: Math.floor(part * whole), speed, transfers: rates, ...(only && { only }) }
        return restorationOf(compile(model, new FakeLowering(), { ...STEP, limit }), { speed, transfers: rates, updateBytes: 0 })
      })
      const best = Math.min(recomputing!.predictedSlowdown, moving!.predictedSlowdown)
      expect(both!.predictedSlowdown, `${part} of the memory, ${rate} bytes/s`).to.be.at.most(1.02 * best)
    }
  })

  it('refuses a limit that is not to be kept, with the least that is', () => {
    const floor = resnet(0).arenas.activations
    const error = thrown(() => resnet(0, floor - 1))
    expect(error.code).to.equal('OUT_OF_MEMORY')
    expect(error.data).to.deep.equal({ floor, limit: floor - 1 })
    expect(resnet(0, floor).arenas.activations).to.equal(floor)
  })
})

const model: Model = modelNamed('resnet20', { input: [3, 32, 32], classes: 10 })

const STEP = { batch: 4, mode: 'train', precision: 'f32' } as const

function resnet(part: number, activations?: number): Program {
  const bytes = activations ?? Math.floor(part * compile(model, new FakeLowering(), STEP).arenas.activations)
  return compile(model, new FakeLowering(), { ...STEP, limit: { activations: bytes, speed } })
}

function repeated(program: Program): readonly LoweredOperator[] {
  return inOrder(program.segments).filter(({ repeats }) => repeats)
}

/** What a step does without a limit, apart from places and with copies named as what they are copies of. */
function originals(program: Program): unknown {
  const nameOf = (id: number): string | undefined => program.values[id]?.name.replace(/\.(again|fetched)(\.\d+)?$/, '')
  return Object.entries(program.segments).map(([segment, operators]) => [
    segment,
    operators
      .filter(({ kind, repeats }) => !repeats && kind !== 'store' && kind !== 'fetch' && kind !== 'settle')
      .map(({ scratch, inputs, outputs, ...operator }) => ({
        ...operator,
        bytes: scratch.bytes,
        inputs: inputs.map(nameOf),
        outputs: outputs.map(nameOf)
      }))
  ])
}
