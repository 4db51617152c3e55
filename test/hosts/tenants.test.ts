import { expect } from 'chai'
import { isFirstProcess, jobOfProcess, tenancyOf } from '../../src/hosts/tenants.js'
import { refused } from '../support/codes.js'

const launched = (rank: number, size = 7) => ({ launcher: 'mpirun', rank, size })
const of = (rank: number, tenants: string) => ({
  OMPI_COMM_WORLD_RANK: String(rank),
  OMPI_COMM_WORLD_SIZE: '7',
  ARBALEST_TENANTS: tenants
})

describe('The jobs of one launcher that share hubs', () => {
  it('have the ranks that follow one another, and the hubs behind', () => {
    const hostsOf = [
      [0, 1, 5, 6],
      [2, 3, 4, 5, 6]
    ]
    const places = [0, 1, 2, 3, 4, 5, 6].map((rank) => tenancyOf(launched(rank), { ARBALEST_TENANTS: '2,3' })!)
    for (const place of places) expect(place.hostsOf).to.deep.equal(hostsOf)
    expect(places.map(({ own }) => own)).to.deep.equal([0, 0, 1, 1, 1, undefined, undefined])
    expect(places.map(({ isFirst }) => isFirst)).to.deep.equal([true, false, true, false, false, false, false])
  })

  it('speak by the first process of each', () => {
    expect([0, 1, 2, 6].map((rank) => isFirstProcess(of(rank, '2,3')))).to.deep.equal([true, false, true, false])
    expect([0, 4, 6].map((rank) => jobOfProcess(of(rank, '2,3')))).to.deep.equal([0, 1, undefined])
  })

  it('are none without the variable, and for a process that was started alone', () => {
    expect(tenancyOf(launched(0), {})).to.equal(undefined)
    expect(tenancyOf(undefined, { ARBALEST_TENANTS: '2,3' })).to.equal(undefined)
  })

  it('are refused when they leave no process for a hub, or are not numbers', async () => {
    for (const given of ['4,3', '2,3,4', '', '0,2', '2;3', 'a'])
      await refused('INVALID_OPTION', () => tenancyOf(launched(0), { ARBALEST_TENANTS: given }), 'ARBALEST_TENANTS')
  })
})
