import { expect } from 'chai'
import type { Engine, Handle } from '../../src/engine/contract.js'
import { engine } from '../../src/engine/native.js'
import { ArbalestError } from '../../src/errors.js'
import { endHosts, openHosts } from '../../src/hosts/hosts-link.js'
import { awaitMeeting } from './support/await-meeting.js'
import { HostMailbox } from '../../src/hosts/host-mailbox.js'
import { refused } from '../support/codes.js'

let links = 0

/** Hosts of one process, joined by threads. */
function hosts(size: number, deadline = 20): Handle[] {
  const name = `mailbox ${process.pid} ${links++}`
  const handles = Array.from({ length: size }, (_, rank) => engine.openHosts({ kind: 'threads', name, rank, size, deadline }))
  handles.forEach(awaitMeeting)
  return handles
}

describe('Messages between hosts', () => {
  it('arrive in order, from each host to each other, as data and as bytes of any size', async () => {
    const mailboxes = hosts(3).map((handle) => new HostMailbox(engine, handle))
    expect(mailboxes.map(({ rank, size, others }) => [rank, size, others])).to.deep.equal([
      [0, 3, [1, 2]],
      [1, 3, [0, 2]],
      [2, 3, [0, 1]]
    ])
    const large = Uint8Array.from({ length: 3_000_000 }, (_, i) => i % 251)
    for (const mailbox of mailboxes)
      for (const to of mailbox.others)
        for (const message of [{ from: mailbox.rank, to, text: 'größer' }, new Uint8Array(0), large, null]) mailbox.send(to, message)
    for (const mailbox of mailboxes)
      for (const from of mailbox.others) {
        expect(await mailbox.receive(from)).to.deep.equal({ from, to: mailbox.rank, text: 'größer' })
        expect(await mailbox.receive(from)).to.deep.equal(new Uint8Array(0))
        expect(Buffer.from((await mailbox.receive(from)) as Uint8Array).equals(Buffer.from(large))).to.equal(true)
        expect(await mailbox.receive(from)).to.equal(null)
      }
  })

  it('longer than the engine takes at a time go in pieces', async () => {
    const [first, second] = hosts(2).map((handle) => new HostMailbox(engine, handle, 1000))
    const sent = [999, 1000, 1001, 2000, 5555, 0].map((length) => Uint8Array.from({ length }, (_, i) => (i + length) % 251))
    const weights = Float32Array.from({ length: 700 }, (_, i) => i / 3)
    for (const message of [...sent, { weights }, 'last']) second!.send(0, message)
    for (const message of sent) expect(await first!.receive(1)).to.deep.equal(message)
    expect(await first!.receive(1)).to.deep.equal({ weights })
    expect(await first!.receive(1)).to.equal('last')
  })

  it('arrive whole or not at all: where a piece finds no memory, the next message is the one behind', async () => {
    const [first, second] = hosts(2)
    let left = 3
    const sendToHost: Engine['sendToHost'] = (...piece) => {
      if (--left === 0) throw new ArbalestError('OUT_OF_MEMORY', 'no room for a piece')
      engine.sendToHost(...piece)
    }
    const mailbox = new HostMailbox({ ...engine, sendToHost }, second!, 1000)
    await refused('OUT_OF_MEMORY', () => mailbox.send(0, new Uint8Array(5000)))
    for (const message of ['next', new Uint8Array(2500), 'last']) mailbox.send(0, message)
    const receiving = new HostMailbox(engine, first!)
    for (const message of ['next', new Uint8Array(2500), 'last']) expect(await receiving.receive(1)).to.deep.equal(message)
  })

  it('settle receives in the order of their calls', async () => {
    const [first, second] = hosts(2).map((handle) => new HostMailbox(engine, handle))
    const [one, two] = [first!.receive(1), first!.receive(1)]
    second!.send(0, 1)
    second!.send(0, 2)
    expect([await one, await two]).to.deep.equal([1, 2])
  })

  it('end with a host that goes: what it has sent before arrives, then HOST_LOST', async () => {
    const handles = hosts(2)
    const [first, second] = handles.map((handle) => new HostMailbox(engine, handle))
    second!.send(0, 'last')
    expect(await first!.receive(1)).to.equal('last')
    const waits = first!.receive(1)
    engine.release(handles[1]!)
    await refused('HOST_LOST', () => waits, 'host 1')
    await refused('HOST_LOST', () => first!.send(1, 'too late'), 'host 1')
    await refused('HOST_LOST', () => endHosts(engine, handles[0]!, 1), 'host 1')
  })

  it('are refused where there is no such host', async () => {
    const handles = hosts(2)
    const mailbox = new HostMailbox(engine, handles[0]!)
    for (const to of [-1, 0, 2]) await refused('INVALID_OPTION', () => mailbox.send(to, 1), 'host', String(to))
    const spec = { kind: 'threads', name: 'refused', rank: 2, size: 2, deadline: 1 } as const
    await refused('INVALID_OPTION', () => openHosts(engine, spec), 'rank', '2')
    await refused('INVALID_OPTION', () => openHosts(engine, { ...spec, rank: 0, deadline: 0 }), 'deadline', '0')
  })

  it('one that ends waits for the others, and no longer than it is told to', async () => {
    const handles = hosts(2)
    await refused('HOST_LOST', () => endHosts(engine, handles[0]!, 0.1), 'not all of them')
    await Promise.all(handles.map((handle) => endHosts(engine, handle, 20)))
    await refused('INVALID_STATE', () => engine.sendToHost(handles[0]!, 1, new Uint8Array(1)), 'has ended')
  })
})
