import { expect } from 'chai'
import { LineSplitter } from '../../src/observe/line-splitter.js'

describe('A text that comes in pieces', () => {
  const linesOf = (pieces: readonly string[], longest?: number) => {
    const splitter = new LineSplitter(longest)
    const lines = pieces.flatMap((piece) => [...splitter.push(piece)])
    return [lines, splitter.takeRest()]
  }

  it('has its lines, wherever it is cut', () => {
    const text = 'one\n\ntwo\u2028two\nthree'
    for (let size = 1; size <= text.length; size++) {
      const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, i) => text.slice(i * size, (i + 1) * size))
      expect(linesOf(pieces)).to.deep.equal([['one', '', 'two\u2028two'], 'three'])
    }
  })

  it('is left a line out that is too long, and has those after it', () => {
    expect(linesOf(['abc', 'de\nfg', 'h\nijklm\n'], 4)).to.deep.equal([['fgh'], ''])
    expect(linesOf(['a\nbcdef'], 4)).to.deep.equal([['a'], undefined])
  })
})
