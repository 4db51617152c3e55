import { expect } from 'chai'
import type { EngineBackend } from '../../src/compiler/program.js'
import type { DatasetSpec } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { thrown } from '../support/thrown.js'
import { testedBackends } from './support/backends.js'
import { BoundOperator } from './support/bound-operator.js'
import { label, type OperatorCase, type Port } from './support/operator-case.js'

const CONTEXT = 5
const LENGTH = 43
const KNOWN = 50
const COUNT = Math.floor((LENGTH - 1) / CONTEXT)
const BATCH = COUNT
/** A token is its own place in the row. */
const row: DatasetSpec = {
  count: COUNT,
  sample: [CONTEXT],
  samples: Int32Array.from({ length: LENGTH }, (_, i) => i),
  stride: CONTEXT,
  classes: KNOWN
}

const tokens = (...shape: number[]): Port => ({ ...label(KNOWN, 1), shape })

const use = (shuffled: number, batch = BATCH): OperatorCase => ({
  kind: 'load',
  name: 'windows',
  attributes: { padding: 0, border: 0, flip: 0, shuffled, mean: [], std: [] },
  inputs: {},
  outputs: { x: tokens(batch, CONTEXT), target: tokens(batch, CONTEXT) }
})

/** The first tokens of the windows of an epoch; every window and its target are looked at. */
function epochOf(backend: EngineBackend, shuffled: number, epoch: number): number[] {
  const dataset = engine.createDataset(row)
  const bound = new BoundOperator(backend, 'f32', use(shuffled), { dataset, seed: 3 })
  try {
    const { x, target } = bound.run({}, epoch * COUNT).outputs as { x: Float64Array; target: Float64Array }
    x.forEach((token, i) => {
      expect(token).to.equal(x[Math.floor(i / CONTEXT) * CONTEXT]! + (i % CONTEXT))
      expect(target[i]).to.equal(token + 1)
    })
    return Array.from({ length: COUNT }, (_, i) => x[i * CONTEXT]!)
  } finally {
    bound.release()
    engine.release(dataset)
  }
}

describe('windows of a row of tokens', () => {
  for (const { name: backend } of testedBackends()) {
    it(`${backend} takes them side by side, in order`, () => {
      expect(epochOf(backend, 0, 2)).to.deep.equal(Array.from({ length: COUNT }, (_, i) => i * CONTEXT))
    })

    it(`${backend} moves and shuffles them all, otherwise in each epoch`, () => {
      const shifts = [0, 1, 2, 3, 4, 5, 6, 7].map((epoch) => {
        const starts = epochOf(backend, 1, epoch)
        const sorted = starts.toSorted((a, b) => a - b)
        expect(sorted).to.deep.equal(Array.from({ length: COUNT }, (_, i) => sorted[0]! + i * CONTEXT))
        expect(starts).not.to.deep.equal(sorted)
        return sorted[0]!
      })
      // Forty tokens lie in eight windows of 43 tokens: they may move by 0, 1 or 2.
      expect(new Set(shifts)).to.deep.equal(new Set([0, 1, 2]))
    })
  }

  it('are the same on both backends', () => {
    for (const epoch of [0, 5]) expect(epochOf('cpu', 1, epoch)).to.deep.equal(epochOf('reference', 1, epoch))
  })

  it('are refused where the row does not hold them', () => {
    const code = (change: Partial<DatasetSpec>) => thrown(() => engine.createDataset({ ...row, ...change })).code
    expect(code({ count: COUNT + 1 })).to.equal('SHAPE_MISMATCH')
    expect(code({ stride: 0 })).to.equal('SHAPE_MISMATCH')
    expect(code({ sample: [1, 5] })).to.equal('SHAPE_MISMATCH')
    expect(code({ samples: new Uint8Array(LENGTH) })).to.equal('SHAPE_MISMATCH')
    expect(code({ classes: LENGTH - 1 })).to.equal('LABEL_OUT_OF_RANGE')
  })

  it('are refused by a program that takes numbers, and numbers by one that takes tokens', () => {
    const windows = engine.createDataset(row)
    const numbers = engine.createDataset({
      count: 2,
      sample: [CONTEXT],
      samples: new Float32Array(10),
      labels: new Int32Array(2),
      classes: 2
    })
    try {
      for (const backend of ['cpu', 'reference'] as const) {
        const floats: OperatorCase = { ...use(0, 1), outputs: { x: { shape: [1, CONTEXT], type: 'activation' }, target: tokens(1) } }
        for (const [dataset, each] of [
          [windows, floats],
          [numbers, use(0, 1)]
        ] as const) {
          const bound = new BoundOperator(backend, 'f32', each, { dataset })
          expect(thrown(() => bound.run({})).code).to.equal('SHAPE_MISMATCH')
          bound.release()
        }
      }
    } finally {
      engine.release(windows)
      engine.release(numbers)
    }
  })
})
