import { expect } from 'chai'
import type { EngineBackend, Precision } from '../../src/compiler/program.js'
import { testedBackends } from './support/backends.js'
import { runOnce } from './support/bound-operator.js'
import { activation, drawn, wide, type OperatorCase, type Values } from './support/operator-case.js'

const HEADS = 2
/** Odd, so that pairs of positions and of features have nothing beside the last. */
const [POSITIONS, WIDTH] = [31, 5]
/** Of each sequence. */
const LENGTHS = [17, 31, 0]
const BATCH = LENGTHS.length
const FEATURES = HEADS * WIDTH

const qkv = activation(BATCH, POSITIONS, 3 * FEATURES)
const y = activation(BATCH, POSITIONS, FEATURES)
const [logSum, lengths] = [wide(BATCH, HEADS, POSITIONS), wide(BATCH)]

const forward: OperatorCase = {
  kind: 'selfAttention',
  name: 'of heads with an odd width',
  attributes: { heads: HEADS },
  inputs: { qkv, lengths },
  outputs: { y, logSum }
}
const backward: OperatorCase = {
  ...forward,
  kind: 'selfAttentionBackward',
  inputs: { qkv, y, logSum, gy: y, lengths },
  outputs: { gqkv: qkv }
}

interface Row {
  readonly sequence: number
  readonly position: number
  readonly head: number
}

/** The values without those of some rows of features, which become no numbers. */
function harmed(values: Float64Array, isHarmed: (row: Row) => boolean): Float64Array {
  const width = values.length / BATCH / POSITIONS
  return values.map((value, i) => {
    const [place, head] = [Math.floor(i / width), Math.floor(i / WIDTH) % HEADS]
    return isHarmed({ sequence: Math.floor(place / POSITIONS), position: place % POSITIONS, head }) ? NaN : value
  })
}

/** Both passes, where some of what they read is no number. */
function passes(backend: EngineBackend, precision: Precision, isHarmed: (row: Row) => boolean): Values {
  const sound: Values = { ...drawn({ qkv, gy: y }, precision, 7), lengths: Float64Array.from(LENGTHS) }
  const inputs = { ...sound, qkv: harmed(sound['qkv']!, isHarmed), gy: harmed(sound['gy']!, isHarmed) }
  const written = runOnce(backend, precision, forward, { qkv: inputs.qkv, lengths: sound['lengths']! }).outputs
  const given = { ...inputs, y: harmed(written['y']!, isHarmed), logSum: written['logSum']! }
  return { y: written['y']!, ...runOnce(backend, precision, backward, given).outputs }
}

describe('attention', () => {
  for (const { name: backend, precisions } of testedBackends()) {
    for (const precision of (['f32', 'bf16'] as const).filter((each) => precisions.includes(each))) {
      it(`${backend} in ${precision} reads nothing behind a sequence's length`, () => {
        const sound = passes(backend, precision, () => false)
        expect(passes(backend, precision, ({ sequence, position }) => position >= LENGTHS[sequence]!)).to.deep.equal(sound)
        expect([...sound['y']!, ...sound['gqkv']!].every(Number.isFinite)).to.equal(true)
      })

      it(`${backend} in ${precision} lets no head read another's features`, () => {
        const sound = passes(backend, precision, () => false)
        const found = passes(backend, precision, ({ head }) => head === 1)
        for (const [port, values] of Object.entries(found)) {
          const isFirst = (_: number, i: number): boolean => Math.floor(i / WIDTH) % HEADS === 0
          expect(values.filter(isFirst), port).to.deep.equal(sound[port]!.filter(isFirst))
          expect(values.some(Number.isNaN), port).to.equal(true)
        }
      })
    }
  }
})
