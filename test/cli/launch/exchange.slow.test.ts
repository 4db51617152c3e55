import { expect } from 'chai'
import { builtMpi } from '../../../src/engine/mpi.js'
import { skip } from '../../support/skip.js'
import { run } from '../support/arbalest.js'

const RACKS = ['--racks', '0,1;2,3']
const WAYS = [
  ['--exchange', 'racks', ...RACKS],
  ['--exchange', 'racks', '--racks', '0;1,2,3', '--rule-at', 'owners'],
  ['--exchange', 'ring'],
  ['--exchange', 'auto', ...RACKS]
]

describe('Processes of a launcher that sum by racks, or around a ring', () => {
  before(function () {
    if (!builtMpi()) skip(this, 'MPI is not built: npm run setup:mpi, npm run build:mpi')
  })

  const train = async (rule: readonly string[], ...more: readonly string[]) => {
    const words = 'train --json --model lenet --learners 4 --batch 8 --seed 3 --steps 20 --evaluate-every 1'.split(' ')
    const { code, stderr, lines } = await run(['launch', '-n', '4', '--json', '--', ...words, '--sync', ...rule, ...more])
    expect(code, stderr).to.equal(0)
    return { weightsSha256: lines.at(-1)!['weightsSha256'], exchange: lines.find(({ event }) => event === 'exchange')! }
  }

  for (const rule of [['ssgd', '--optimiser', 'adam'], ['sma'], ['local-sgd'], ['diloco']])
    it(`end with the weights of the sharded exchange: ${rule.join(' ')}`, async () => {
      const { weightsSha256 } = await train(rule)
      for (const way of WAYS) {
        const found = await train(rule, ...way)
        expect(found.weightsSha256, way.join(' ')).to.equal(weightsSha256)
        if (way[1] !== 'auto') expect(found.exchange).to.include({ mode: way[1], reason: 'as given' })
        else expect(found.exchange['predicted']).to.have.length(3)
      }
    })
})
