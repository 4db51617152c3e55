import { expect } from 'chai'
import type { IncomingMessage } from 'node:http'
import { hostsOf, RequestGuard } from '../../src/dashboard/guard.js'

describe('who may look at a dashboard', () => {
  it('is told by the address: on port 80, which clients leave out, without it', () => {
    expect(hostsOf(41_873)).to.deep.equal(['127.0.0.1:41873', 'localhost:41873'])
    const guard = new RequestGuard()
    const check = (host: string, port: number, headers: object = {}) =>
      guard.check(
        {
          method: 'GET',
          url: `/${guard.secret}/events`,
          httpVersion: '1.1',
          headers: { host, ...headers },
          rawHeaders: ['Host', host]
        } as unknown as IncomingMessage,
        port
      )
    for (const host of ['127.0.0.1', 'localhost', '127.0.0.1:80'])
      expect(check(host, 80, { origin: `http://${host}` }), host).to.deep.equal({ path: 'events' })
    for (const host of ['127.0.0.1', 'localhost', '127.0.0.1:80', 'example.org:8123'])
      expect(check(host, 8123), host).to.deep.equal({ refusal: 403 })
    expect(check('example.org', 80)).to.deep.equal({ refusal: 403 })
    expect(check('127.0.0.1', 80, { origin: 'http://127.0.0.1:8123' })).to.deep.equal({ refusal: 403 })
  })
})
