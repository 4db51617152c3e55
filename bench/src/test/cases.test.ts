import { expect } from 'chai'
import { chosenCases, usually } from '../cases.js'

const names = (filters: readonly string[]): string[] => chosenCases(filters).map((one) => one.name)

describe('chosenCases', () => {
  it('takes the usual cases without filters', () => {
    const all = names([])
    expect(all).to.include.members(['mlp b8 k2 f32', 'lenet b16 k2 bf16', 'resnet20 b8 k2 f32'])
    expect(all).to.have.length(3 * 2 * 1 * 2)
  })

  it('adds up words of one kind and narrows by words of different kinds', () => {
    expect(names(['lenet', 'mlp', 'b8', 'f32'])).to.deep.equal(['lenet b8 k2 f32', 'mlp b8 k2 f32'])
    expect(names(['resnet20 b16 k2 f32'])).to.deep.equal(['resnet20 b16 k2 f32'])
    expect(names(['mlp', 'mlp', 'b8', 'f32'])).to.deep.equal(['mlp b8 k2 f32'])
  })

  it('measures one case where a bench usually does: what no word names is as in that', () => {
    const cases = (...words: readonly string[]) => chosenCases(words, usually('lenet')).map(({ name }) => name)
    expect(cases()).to.deep.equal(['lenet b16 k2 f32'])
    expect(cases('mlp')).to.deep.equal(['mlp b16 k2 f32'])
    expect(cases('bf16', 'b8')).to.deep.equal(['lenet b8 k2 bf16'])
  })

  it('measures what is not usual on demand', () => {
    expect(names(['resnet32', 'b4', 'b32', 'k1', 'f32'])).to.deep.equal(['resnet32 b4 k1 f32', 'resnet32 b32 k1 f32'])
  })

  it('refuses words that it does not know', () => {
    for (const stranger of ['vgg', 'b0', 'b', 'k2x', 'f16', 'toString']) {
      expect(() => names(['lenet', stranger]), stranger)
        .to.throw(stranger)
        .with.property('code', 'UNKNOWN_NAME')
    }
  })
})
