import { expect } from 'chai'
import type { EngineBackend, OfferedTensor, Precision } from '../../src/compiler/program.js'
import { engine } from '../../src/engine/native.js'
import { skip } from '../support/skip.js'
import { testedBackends } from './support/backends.js'
import { runOnce } from './support/bound-operator.js'
import { activation, drawn, present, wide, type OperatorCase, type Port, type Values } from './support/operator-case.js'

const HEADS = 2
/** Odd, so that pairs of positions and of features have nothing beside the last; and a width of which heads are taken by eights. */
const POSITIONS = 31
const WIDTHS = [5, 24]
/** Of each sequence. */
const LENGTHS = [17, 31, 0]
const BATCH = LENGTHS.length

interface Passes {
  readonly forward: OperatorCase
  readonly backward: OperatorCase
  readonly qkv: Port
  readonly y: Port
  readonly width: number
}

function passesOf(width: number): Passes {
  const features = HEADS * width
  const qkv = activation(BATCH, POSITIONS, 3 * features)
  const y = activation(BATCH, POSITIONS, features)
  const [logSum, lengths] = [wide(BATCH, HEADS, POSITIONS), wide(BATCH)]
  const forward = {
    kind: 'selfAttention',
    name: `of heads of ${width} features`,
    attributes: { heads: HEADS },
    inputs: { qkv, lengths },
    outputs: { y, logSum }
  } as const
  const backward = {
    ...forward,
    kind: 'selfAttentionBackward',
    inputs: { qkv, y, logSum, gy: y, lengths },
    outputs: { gqkv: qkv }
  } as const
  return { forward, backward, qkv, y, width }
}

interface Row {
  readonly sequence: number
  readonly position: number
  readonly head: number
}

/** The values without those of some rows of features, which become no numbers. */
function harmed(values: Float64Array, width: number, isHarmed: (row: Row) => boolean): Float64Array {
  const features = values.length / BATCH / POSITIONS
  return values.map((value, i) => {
    const [place, head] = [Math.floor(i / features), Math.floor(i / width) % HEADS]
    return isHarmed({ sequence: Math.floor(place / POSITIONS), position: place % POSITIONS, head }) ? NaN : value
  })
}

/** Both passes, where some of what they read is no number. */
function passes(backend: EngineBackend, precision: Precision, of: Passes, isHarmed: (row: Row) => boolean): Values {
  const harm = (values: Float64Array): Float64Array => harmed(values, of.width, isHarmed)
  const sound: Values = { ...drawn({ qkv: of.qkv, gy: of.y }, precision, 7), lengths: Float64Array.from(LENGTHS) }
  const inputs = { ...sound, qkv: harm(sound['qkv']!), gy: harm(sound['gy']!) }
  const written = runOnce(backend, precision, of.forward, { qkv: inputs.qkv, lengths: sound['lengths']! }).outputs
  const given = { ...inputs, y: harm(written['y']!), logSum: written['logSum']! }
  return { y: written['y']!, ...runOnce(backend, precision, of.backward, given).outputs }
}

describe('attention', () => {
  for (const { name: backend, precisions } of testedBackends()) {
    for (const precision of (['f32', 'bf16'] as const).filter((each) => precisions.includes(each))) {
      for (const width of WIDTHS) {
        const of = passesOf(width)

        it(`${backend} in ${precision} reads nothing behind a sequence's length, ${of.forward.name}`, () => {
          const sound = passes(backend, precision, of, () => false)
          expect(passes(backend, precision, of, ({ sequence, position }) => position >= LENGTHS[sequence]!)).to.deep.equal(sound)
          expect([...sound['y']!, ...sound['gqkv']!].every(Number.isFinite)).to.equal(true)
        })

        it(`${backend} in ${precision} lets no head read another's features, ${of.forward.name}`, () => {
          const sound = passes(backend, precision, of, () => false)
          const found = passes(backend, precision, of, ({ head }) => head === 1)
          for (const [port, values] of Object.entries(found)) {
            const isFirst = (_: number, i: number): boolean => Math.floor(i / width) % HEADS === 0
            expect(values.filter(isFirst), port).to.deep.equal(sound[port]!.filter(isFirst))
            expect(values.some(Number.isNaN), port).to.equal(true)
          }
        })
      }
    }
  }

  it('in bfloat16 holds nothing that grows with the square of the sequence on a GPU, where 8 divides the width of its heads', function () {
    if (!testedBackends().some(({ name }) => name === 'cuda-host')) skip(this, 'no cuda-host here')
    const scratch = ({ kind, inputs, outputs }: OperatorCase, precision: Precision): number => {
      const offered = (ports: OperatorCase['inputs']): OfferedTensor[] =>
        present(ports).map(([, { shape, type }]) => ({ shape, type: type === 'wide' ? 'f32' : precision, layout: null }))
      const request = { kind, attributes: { heads: HEADS }, inputs: offered(inputs), outputs: offered(outputs), precision, threads: 1 }
      return engine.lower('cuda-host', request).scratchBytes
    }
    for (const width of [8, 40, 128]) {
      const { forward, backward } = passesOf(width)
      expect(scratch(forward, 'bf16')).to.equal(0)
      // A float of each head and position.
      expect(scratch(backward, 'bf16')).to.be.within(1, 4 * BATCH * HEADS * POSITIONS + 64)
    }
    for (const width of [5, 136]) expect(scratch(passesOf(width).forward, 'bf16')).to.be.above(4 * BATCH * HEADS * POSITIONS ** 2)
    expect(scratch(passesOf(8).forward, 'f32')).to.be.above(4 * BATCH * HEADS * POSITIONS ** 2)
  })
})
