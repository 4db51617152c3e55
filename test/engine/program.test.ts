import { expect } from 'chai'
import fc from 'fast-check'
import { engine } from '../../src/engine/native.js'
import type { Program } from '../../src/compiler/program.js'
import { ArbalestError } from '../../src/errors.js'
import { reluProgram } from './support/program.js'

/** A program as a hostile caller may write it. */
interface Loose {
  values: { bytes: number; shape: number[]; placement: { offset: number } }[]
  segments: { forward: { inputs: number[]; scratch: { bytes: number; offset: number } }[] }
  parameters: { parameters: { offset: number }[] }
  named: Record<string, number>
}

describe('a program on its way into the engine', () => {
  const refuses = (change: (program: Loose) => void): void => {
    const program = structuredClone(reluProgram()) as unknown as Loose & Program
    change(program)
    expect(() => engine.createProgram(program))
      .to.throw(ArbalestError)
      .with.property('code', 'INVALID_PROGRAM')
  }

  it('is refused where a value leaves its arena', () => refuses((program) => (program.values[1]!.placement.offset = 128)))
  it('is refused where a value is smaller than its elements', () => refuses((program) => (program.values[1]!.bytes = 15)))
  it('is refused where a value is not aligned', () => refuses((program) => (program.values[1]!.placement.offset = 8)))
  it('is refused where an operator names a value that is not there', () =>
    refuses((program) => (program.segments.forward[0]!.inputs = [3])))
  it('is refused where scratch leaves the arena', () =>
    refuses((program) => (program.segments.forward[0]!.scratch = { bytes: 64, offset: 128 })))
  it('is refused where a parameter leaves the vector', () => refuses((program) => (program.parameters.parameters[0]!.offset = 64)))
  it('is refused where a name stands for nothing', () => refuses((program) => (program.named['loss'] = 9)))
  it('is refused where an extent is negative', () => refuses((program) => (program.values[0]!.shape = [-1, -4])))
  it('is refused where an extent overflows', () => refuses((program) => (program.values[0]!.shape = [2 ** 50, 2 ** 50])))

  it('is refused, or harmless, whatever one property of it is replaced by', () => {
    const replacement = fc.oneof(
      fc.constantFrom<unknown>(undefined, null, NaN, -1, 2 ** 53, 1e300, '', 'plain', [], {}, [[]], 'f64', true),
      fc.integer(),
      fc.double(),
      fc.string()
    )
    fc.assert(
      fc.property(fc.nat(10_000), replacement, (choice, value) => {
        const program = structuredClone(reluProgram())
        const places = placesIn(program)
        const [holder, key] = places[choice % places.length]!
        Object.assign(holder, { [key]: value })
        try {
          const handle = engine.createProgram(program)
          const replica = engine.createReplica({ backend: 'reference', layout: program.parameters, threads: 1, seed: 1 })
          engine.bind(replica, handle)
        } catch (error) {
          expect(error).to.be.instanceOf(ArbalestError)
          expect((error as ArbalestError).code).to.not.equal('INTERNAL')
        }
      }),
      { numRuns: 2000 }
    )
  })
})

/** Every property of every object within, as (holder, key). */
function placesIn(value: unknown): [object, string][] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => [[value, key] as [object, string], ...placesIn(inner)])
}
