import { expect } from 'chai'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GROUP_FILE } from '../../../src/checkpoints/checkpoint.js'
import type { Resumption } from '../../../src/checkpoints/resume.js'
import type { HostsSpec } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'
import { Follower } from '../../../src/run/hosts/follower.js'
import type { HostCall } from '../../../src/run/hosts/host-calls.js'
import { part } from '../../../src/run/hosts/join.js'
import { hostErrorOf, Leader } from '../../../src/run/hosts/leader.js'
import type { Order } from '../../../src/run/hosts/orders.js'
import { RunHost } from '../../../src/run/hosts/run-host.js'
import { heap } from '../../runtime/support/heap.js'
import { refused } from '../../support/codes.js'

/** The leader of two hosts, of which the other one answers each call with what `answer` gives, or with nothing. */
function leading(answer: () => unknown): { readonly leader: Leader; readonly come: (message: object) => void } {
  const arrived: object[] = []
  let receive: ((message: object) => void) | undefined
  const come = (message: object) => {
    if (receive) receive(message)
    else arrived.push(message)
    receive = undefined
  }
  const mailbox = {
    others: [1],
    lost: [],
    receive: () => new Promise((resolve) => (arrived.length > 0 ? resolve(arrived.shift()) : (receive = resolve))),
    send: (_rank: number, message: HostCall | Order) => {
      const value = 'call' in message ? answer() : undefined
      if (value !== undefined) come({ answer: (message as HostCall).call, value })
    }
  }
  const host = { mailbox, hubs: [], ranks: [0, 1] } as unknown as RunHost
  return {
    leader: new Leader(
      host,
      () => Promise.resolve(),
      () => {}
    ),
    come
  }
}

describe('The first host of a run', () => {
  it('keeps no answer of another host, however many it is asked for', async () => {
    const { leader } = leading(() => Array.from({ length: 1000 }, () => 0))
    const ask = async (times: number) => {
      for (let i = 0; i < times; i++) await leader.ask(1, 'figuresAfter', [0])
    }
    await ask(100)
    const before = heap()
    await ask(2000)
    expect((heap() - before) / 2000).below(1000)
  })

  it('rejects what it has asked another host, and asks, with the error by which one has failed', async () => {
    const { leader, come } = leading(() => undefined)
    const asked = leader.ask(1, 'population', [])
    come({ report: 'failed', error: { host: 'there', code: 'DATA_CORRUPT', message: 'a file is damaged' } })
    await refused('DATA_CORRUPT', () => asked, 'rank 1 (there): a file is damaged')
    await refused('DATA_CORRUPT', () => leader.ask(1, 'population', []), 'a file is damaged')
  })
})

describe('A run over hosts that goes on from a checkpoint', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'arbalest-beginning-'))
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  it('ends on all hosts with the error of the first one, where that cannot read a file which the others wait for', async () => {
    const specs = [0, 1].map((rank): HostsSpec => ({ kind: 'threads', name: dir, rank, size: 2, deadline: 20 }))
    const [first, second] = await Promise.all(specs.map((spec) => RunHost.open(engine, spec)))
    const leader = new Leader(
      first!,
      () => Promise.resolve(),
      () => {}
    )
    const follower = new Follower(second!)
    writeFileSync(join(dir, GROUP_FILE), 'the states of the group')
    const resumption = { folder: dir, state: { learners: [0, 1] }, learner: (place: number) => join(dir, `lost-${place}`) }
    const error = await refused('DATA_NOT_FOUND', () => leader.begin(resumption as unknown as Resumption, []), 'lost-1')
    leader.end({ order: 'fail', error: hostErrorOf(error) })
    await refused('DATA_NOT_FOUND', () => follower.over, 'lost-1')
    const began = performance.now()
    // The first host knows already.
    await follower.fail(error)
    expect(performance.now() - began).below(1000)
    await Promise.all([part(first!), part(second!)])
    for (const host of [first!, second!]) host[Symbol.dispose]()
  })
})
