import { expect } from 'chai'
import { bases } from '../targets/bases.js'
import { encodeProgram, encodeVectors } from './encode.js'

describe('seeds of the native fuzzers', () => {
  for (const { program } of bases().filter(({ program: { backend } }) => backend === 'reference'))
    it(`say ${program.name} with words that the harnesses know`, () => {
      expect(encodeProgram(program, 0).length).to.be.within(200, 16_384)
      expect(encodeVectors(program).length).to.be.within(50, 16_384)
    })
})
