import { expect } from 'chai'
import type { EngineBackend } from '../../src/compiler/program.js'
import { testedBackends } from './support/backends.js'
import { BoundOperator } from './support/bound-operator.js'
import { activation, type OperatorCase } from './support/operator-case.js'

const RATE = 0.3

const dropout = (kind: 'dropout' | 'dropoutBackward' | 'stochasticDepth', samples: number, stream = 0): OperatorCase => ({
  kind,
  name: kind,
  attributes: { rate: RATE, stream },
  inputs: { x: activation(samples, 5, 20, 20) },
  outputs: { y: activation(samples, 5, 20, 20) }
})

/** Which elements are kept: the operator over ones. */
function kept(backend: EngineBackend, use: OperatorCase, position: number, seed = 1): Float64Array {
  const bound = new BoundOperator(backend, 'f32', use, { seed })
  try {
    return bound.run({ x: new Float64Array(use.inputs['x']!.shape.reduce((a, b) => a * b)).fill(1) }, position).outputs['y']!
  } finally {
    bound.release()
  }
}

describe('dropout', () => {
  for (const { name: backend } of testedBackends()) {
    describe(`on ${backend}`, () => {
      it('keeps the share it should, enlarged so that the mean stays', () => {
        const y = kept(backend, dropout('dropout', 4), 0)
        const share = y.filter((value) => value !== 0).length / y.length
        // Five standard deviations of 8,000 draws.
        expect(share).to.be.closeTo(1 - RATE, 5 * Math.sqrt((RATE * (1 - RATE)) / y.length))
        expect(Math.max(...y)).to.be.closeTo(1 / (1 - RATE), 1e-6)
      })

      it('draws a mask a sample, the same in whatever batch the sample stands', () => {
        const four = kept(backend, dropout('dropout', 4), 100)
        for (const i of [0, 1, 3]) {
          expect(four.slice(i * 2000, (i + 1) * 2000)).to.deep.equal(kept(backend, dropout('dropout', 1), 100 + i))
        }
      })

      it('draws the same mask backwards, and others for other seeds, positions and streams', () => {
        const mask = kept(backend, dropout('dropout', 2), 7)
        expect(kept(backend, dropout('dropoutBackward', 2), 7)).to.deep.equal(mask)
        expect(kept(backend, dropout('dropout', 2), 9)).not.to.deep.equal(mask)
        expect(kept(backend, dropout('dropout', 2), 7, 2)).not.to.deep.equal(mask)
        expect(kept(backend, dropout('dropout', 2, 1), 7)).not.to.deep.equal(mask)
      })

      it('of whole samples keeps all or nothing of each, the share it should, by its position and stream', () => {
        const SAMPLES = 400
        const scales = (position: number, stream = 0): number[] => {
          const y = kept(backend, dropout('stochasticDepth', SAMPLES, stream), position)
          return Array.from({ length: SAMPLES }, (_, i) => {
            const own = new Set(y.subarray(i * 2000, (i + 1) * 2000))
            expect(own.size, `values of sample ${i}`).to.equal(1)
            return [...own][0]!
          })
        }
        const first = scales(0)
        const dropped = first.filter((scale) => scale === 0).length
        expect(dropped / SAMPLES).to.be.closeTo(RATE, 5 * Math.sqrt((RATE * (1 - RATE)) / SAMPLES))
        expect(Math.max(...first)).to.be.closeTo(1 / (1 - RATE), 1e-6)
        expect(scales(5).slice(0, -5)).to.deep.equal(first.slice(5))
        expect(scales(0, 1)).not.to.deep.equal(first)
      })
    })
  }
})
