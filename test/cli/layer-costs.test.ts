import { expect } from 'chai'
import { layerCosts } from '../../src/cli/explain/layer-costs.js'
import { explain } from '../../src/index.js'

describe('the costs of layers', () => {
  it('name what is fused into a batch norm, whatever else it reads', async () => {
    const explanation = await explain({ model: 'resnet20', input: [3, 32, 32], classes: 10, batch: 2, backend: 'reference' })
    const kinds = (given: typeof explanation) =>
      layerCosts(given)
        .map(({ operator }) => operator)
        .filter((operator) => operator.startsWith('batchNorm'))
    const found = kinds(explanation)
    // The first one, and two for each of nine blocks, of which the second ends the block.
    expect(found).to.deep.equal([
      'batchNorm + relu',
      ...Array.from({ length: 9 }, () => ['batchNorm + relu', 'batchNorm + add + relu']).flat()
    ])
    const withSums = explanation.operators.map((operator) =>
      operator.kind === 'batchNorm' ? { ...operator, inputs: [...operator.inputs, [4, operator.inputs[1]![0]!, 2]] } : operator
    )
    expect(kinds({ ...explanation, operators: withSums })).to.deep.equal(found)
  })

  it('name what is fused into a group norm', async () => {
    const explanation = await explain({ model: 'resnet20_gn', input: [3, 32, 32], classes: 10, batch: 2, backend: 'reference' })
    const norms = layerCosts(explanation).flatMap(({ operator }) => (operator.startsWith('groupNorm') ? [operator] : []))
    expect(norms.slice(0, 3)).to.deep.equal(['groupNorm + relu', 'groupNorm + relu', 'groupNorm + add + relu'])
  })
})
