import { expect } from 'chai'
import { answerOf, compiled } from '../hosts/mpi.js'
import { wanted } from '../hub.js'

describe('The bench of the parameter hub', () => {
  it('takes the names of cases, and refuses words that are in none', () => {
    const models = ['lenet', 'resnet20']
    expect(wanted(['hub h4 link4x', 'tall', 'k2'])).to.deep.equal({ cases: ['hub', 'tall'], models })
    expect(wanted(['training', 'hub', 'h4', 'link4x', 'resnet20'])).to.deep.equal({ cases: ['training'], models: ['resnet20'] })
    expect(wanted(['tenants flood'])).to.deep.equal({ cases: ['flood'], models })
    expect(wanted([])).to.deep.equal({ cases: [], models })
    expect(() => wanted(['hubs'])).to.throw(/hubs/)
  })

  it('compares two ways to sum and step that end with the same weights', async () => {
    const program = await compiled({ mpicc: process.env['CC'] ?? 'cc' }, 'aggregate.c', ['-O3', '-pthread'])
    const run = (way: string) =>
      answerOf<{ rate: number; checksum: number }>({ program, args: [way, '2', '3', '0.05', '100000,17,8192,1'] }, 1)
    const [tall, wide] = [await run('tall'), await run('wide')]
    expect(tall.checksum).to.equal(wide.checksum)
    expect(tall.checksum).not.to.equal(0)
    for (const { rate } of [tall, wide]) expect(rate).above(0)
  })
})
