import type { Engine } from '../../src/engine/contract.js'
import { awaitHosts } from '../../src/hosts/hosts-link.js'
import { refused } from '../support/codes.js'

describe('The link of a host', () => {
  it('is given up where the others do not come, and the error says what to look at', () => {
    const engine = { hostsPlace: () => null } as unknown as Engine
    return refused('HOST_LOST', () => awaitHosts(engine, 1, 0.05), 'met within 0.05 s', 'all processes have started', 'on all ports')
  })
})
