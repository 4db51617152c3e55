import { expect } from 'chai'
import * as fc from 'fast-check'
import { compile } from '../../../src/compiler/compile.js'
import type { Program } from '../../../src/compiler/program.js'
import { inOrder } from '../../../src/compiler/step.js'
import { isTransfer } from '../../../src/compiler/tiers/cost.js'
import type { MemoryLimit } from '../../../src/compiler/tiers/fit.js'
import { modelNamed } from '../../../src/model/zoo/index.js'
import { FakeLowering } from '../../fakes/lowering.js'
import { checkProgram } from '../support/check-program.js'
import { randomModel } from '../support/random-model.js'
import { randomSequenceModel } from '../support/random-sequence-model.js'
import { simulate } from '../support/simulate.js'

const speed = { flopsPerSecond: 1e11, bytesPerSecond: 1e10, cacheBytesPerSecond: 1e10, cacheBytes: 0 }
const transfers = { storeBytesPerSecond: 1e9, fetchBytesPerSecond: 1e9, bothWays: false }

describe('a step whose weights and gradients lie in the second tier', () => {
  it('keeps every promise of a Program, and its operators as they are', () => {
    fc.assert(
      fc.property(fc.oneof(randomModel({ layers: 5 }), randomSequenceModel()), fc.boolean(), fc.boolean(), (model, together, limited) => {
        const compiled = (vectors: 'device' | 'host', limit?: MemoryLimit): Program =>
          compile(model, new FakeLowering(together), {
            batch: 4,
            mode: 'train',
            precision: 'f32',
            load: { mean: [0], std: [1] },
            vectors,
            ...(limit && { limit })
          })
        const program = compiled('host', limited ? { activations: 0, speed, transfers } : undefined)
        checkProgram(program)
        simulate(program)
        const { weights, gradients } = compiled('device').arenas
        expect([program.arenas.weights, program.arenas.gradients]).to.deep.equal([weights, gradients])
        if (!limited && !together) expect(computing(program)).to.deep.equal(computing(compiled('device')))
      }),
      { seed: 4, numRuns: 30 }
    )
  })

  it('holds a few parameters at a time, fetched ahead of their readers', () => {
    const model = modelNamed('vgg16', { input: [3, 32, 32], classes: 10 })
    const compiled = (vectors: 'device' | 'host') =>
      compile(model, new FakeLowering(), { batch: 1, mode: 'train', precision: 'f32', vectors })
    const program = compiled('host')
    const largest = Math.max(...program.parameters.parameters.map(({ bytes }) => bytes))
    expect(program.arenas.activations).to.be.below(compiled('device').arenas.activations + 6 * largest)
    const operators = inOrder(program.segments)
    const gaps = operators.flatMap(({ kind, outputs }, begun) => {
      if (kind !== 'fetch') return []
      const settled = operators.findIndex((each) => each.kind === 'settle' && each.inputs[1] === outputs[0])
      return operators.slice(begun, settled).filter((each) => !isTransfer(each.kind)).length
    })
    // But for the first ones, there is something to compute meanwhile.
    expect(gaps.filter((gap) => gap === 0).length).to.be.at.most(4)
  })
})

function computing(program: Program): readonly string[] {
  return inOrder(program.segments)
    .filter(({ kind }) => !isTransfer(kind))
    .map(({ kind, name }) => `${kind} ${name}`)
}
