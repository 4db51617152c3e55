import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import { expect } from 'chai'
import fc from 'fast-check'
import { Inbox, Outbox, type Packet, type Message } from '../../src/runtime/wire-protocol.js'
import { transfer } from '../../src/runtime/cloneable.js'

const primitive = fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.constant(undefined))
const value = fc.oneof(primitive, fc.array(fc.integer()), fc.record({ a: fc.boolean() }))
const method = fc.constantFrom('note', 'then some', '', '__proto__', '7')
const messageOf = (one: fc.Arbitrary<unknown>) => {
  const args = fc.array(one, { maxLength: 5 })
  return fc.oneof(
    fc.tuple(fc.constant('tell' as const), method, args),
    fc.tuple(fc.constant('ask' as const), fc.nat(), method, args),
    fc.tuple(fc.constant('answer' as const), fc.nat(), one),
    fc.tuple(fc.constant('credit' as const), fc.nat()),
    fc.constantFrom(['started'] as const, ['stop'] as const, ['suspend'] as const, ['resume'] as const, ['ending'] as const),
    fc.tuple(fc.constant('exited' as const), fc.constant(null), fc.nat(), fc.array(fc.string()))
  )
}

describe('packets', () => {
  const pair = () => {
    const { port1, port2 } = new MessageChannel()
    const refused: Message[] = []
    const outbox = new Outbox(port1, (lost) => refused.push(lost))
    const inbox = new Inbox()
    const received = () => {
      const all: Message[][] = []
      for (let next = receiveMessageOnPort(port2); next; next = receiveMessageOnPort(port2)) all.push(inbox.read(next.message as Packet))
      return all
    }
    return { outbox, refused, received, close: () => port1.close() }
  }

  const sent = (turns: readonly (readonly Message[])[]): Message[][] => {
    const { outbox, received, close } = pair()
    for (const turn of turns) {
      for (const one of turn) outbox.post(one)
      outbox.flush()
    }
    const arrived = received()
    close()
    return arrived
  }

  it('carry every message unchanged and in order, however they are spread over turns', () => {
    fc.assert(
      fc.property(fc.array(fc.array(messageOf(value))), (turns) => {
        expect(sent(turns).flat()).to.deep.equal(turns.flat())
      })
    )
  })

  it('carry all messages of a turn together whose values cannot change until its end', () => {
    fc.assert(
      fc.property(fc.array(fc.array(messageOf(primitive))), (turns) => {
        expect(sent(turns)).to.deep.equal(turns.filter(({ length }) => length > 0))
      })
    )
  })

  it('carry values as they are when they are posted', () => {
    const { outbox, received, close } = pair()
    const values = [1]
    outbox.post(['tell', 'take', [values]])
    values[0] = 2
    outbox.post(['ask', 1, 'take', [values]])
    values[0] = 3
    outbox.post(['answer', 1, values])
    values[0] = 4
    outbox.flush()
    expect(received().flat()).to.deep.equal([
      ['tell', 'take', [[1]]],
      ['ask', 1, 'take', [[2]]],
      ['answer', 1, [3]]
    ])
    close()
  })

  it('refuse a message that cannot be cloned and carry the rest, with the names first posted beside it', () => {
    const { outbox, refused, received, close } = pair()
    outbox.post(['tell', 'first', [() => {}]])
    outbox.post(['ask', 1, 'second', [1]])
    outbox.post(['answer', 2, Symbol('s')])
    outbox.post(['tell', 'first', [2]])
    outbox.flush()
    outbox.post(['tell', 'second', []])
    outbox.flush()
    expect(refused.map(([kind]) => kind)).to.deep.equal(['tell', 'answer'])
    expect(received().flat()).to.deep.equal([
      ['ask', 1, 'second', [1]],
      ['tell', 'first', [2]],
      ['tell', 'second', []]
    ])
    close()
  })

  it('move the objects that are marked for transfer', () => {
    const { outbox, received, close } = pair()
    const [told, answered] = [new ArrayBuffer(8), new ArrayBuffer(16)]
    outbox.post(['tell', 'take', [transfer(told, [told])]])
    outbox.post(['answer', 1, transfer({ answered }, [answered])])
    outbox.flush()
    expect([told.byteLength, answered.byteLength]).to.deep.equal([0, 0])
    const [tell, answer] = received().flat() as [Message, Message]
    expect((tell as [string, string, [ArrayBuffer]])[2][0].byteLength).to.equal(8)
    expect((answer as [string, number, { answered: ArrayBuffer }])[2].answered.byteLength).to.equal(16)
    close()
  })
})
