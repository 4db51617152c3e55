import { inspect } from 'node:util'
import { expect } from 'chai'
import { ArbalestError, faultsOf, invalidOption, shown, unknownName } from '../src/errors.js'

describe('A value in a message', () => {
  for (const [value, text] of [
    ['a "text"', '"a \\"text\\""'],
    [NaN, 'NaN'],
    [12n, '12n'],
    [[1, NaN, Infinity], '[1,NaN,Infinity]'],
    [{ a: new Float64Array(3), b: 2n }, '{"a":Float64Array of 3 numbers,"b":2n}'],
    [new Float64Array(4), 'Float64Array of 4 numbers'],
    [new DataView(new ArrayBuffer(4)), 'DataView'],
    [new Map([[1, 2]]), 'Map'],
    [new AbortController(), 'AbortController'],
    [new URL('file:///a'), '"file:///a"'],
    [(x: number) => x, 'a function'],
    [Math.max, 'function max'],
    [null, 'null'],
    ['x'.repeat(500), `"${'x'.repeat(116)}...`],
    ['a\u001bb', '"a\\u001bb"']
  ] as const)
    it(`is ${text.slice(0, 50)}`, () => expect(shown(value)).to.equal(text))

  it('that refers to itself is called by its class', () => {
    const self: Record<string, unknown> = {}
    self['self'] = self
    expect(shown(self)).to.equal('Object')
  })
})

describe('The fault of an option', () => {
  it('has all that was received, of which Node prints what the message says', () => {
    const received = { samples: new Float32Array(1000) }
    const error = invalidOption('data', received, 'give a Dataset')
    expect(error.data['received']).to.equal(received)
    // As Node prints what nobody caught.
    expect(inspect(error, { customInspect: false, depth: 5 }))
      .to.include('Float32Array of 1000 numbers')
      .and.not.include('more items')
  })

  it('says nothing was received if the option is missing', () =>
    expect(invalidOption('model', undefined, 'give one').message).to.equal('model: received nothing; give one'))

  it('says so where there is no name to choose from', () =>
    expect(unknownName('method', 'x', []).message).to.equal('method: received "x"; there is none'))

  it('is one of a refusal only: other errors have other data', () => {
    expect(faultsOf(invalidOption('a', 1, 'b'))).to.deep.equal([{ path: 'a', received: 1, fix: 'b' }])
    expect(faultsOf(new ArbalestError('SHAPE_MISMATCH', 'x', { data: { faults: ['text'] } }))).to.deep.equal([])
  })
})
