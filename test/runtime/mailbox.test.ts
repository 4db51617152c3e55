import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { Mailbox } from '../../src/runtime/mailbox.js'

const TURNS = { dispatch: queueMicrotask, throughput: 3, handled: () => false }

describe('a mailbox', () => {
  it('handles nothing before it is open, then everything in order', async () => {
    const handled: number[] = []
    const mailbox = new Mailbox<number>(TURNS, (item) => void handled.push(item))
    mailbox.put(1)
    mailbox.put(2)
    await sleep(1)
    expect(handled).to.deep.equal([])
    mailbox.open()
    mailbox.put(3)
    await sleep(1)
    expect(handled).to.deep.equal([1, 2, 3])
  })

  it('never handles an item inside the call that puts it there', async () => {
    const events: string[] = []
    const mailbox = new Mailbox<string>(TURNS, (item) => {
      events.push(`${item} begins`)
      if (item === 'a') mailbox.put('b')
      events.push(`${item} ends`)
    })
    mailbox.open()
    mailbox.put('a')
    expect(events).to.deep.equal([])
    await sleep(1)
    expect(events).to.deep.equal(['a begins', 'a ends', 'b begins', 'b ends'])
  })

  it('handles system messages first, also while it is suspended', async () => {
    const handled: (number | string)[] = []
    const mailbox = new Mailbox<number>(TURNS, (item) => void handled.push(item))
    mailbox.open()
    mailbox.put(1)
    mailbox.suspend()
    mailbox.putSystem(() => void handled.push('a'))
    await sleep(1)
    expect(handled).to.deep.equal(['a'])
    mailbox.putSystem(() => void handled.push('b'))
    mailbox.resume()
    await sleep(1)
    expect(handled).to.deep.equal(['a', 'b', 1])
  })

  it('lets other turns run after as many messages as its throughput', async () => {
    const handled: (number | string)[] = []
    const mailbox = new Mailbox<number>(TURNS, (item) => {
      if (item === 1) queueMicrotask(() => handled.push('other'))
      handled.push(item)
    })
    mailbox.open()
    for (let i = 0; i < 5; i++) mailbox.put(i)
    await sleep(1)
    expect(handled).to.deep.equal([0, 1, 2, 'other', 3, 4])
  })

  it('waits for the current item when it is closed, and returns the others', async () => {
    const handled: number[] = []
    const mailbox = new Mailbox<number>(TURNS, async (item) => {
      await sleep(5)
      handled.push(item)
    })
    mailbox.open()
    mailbox.put(1)
    mailbox.put(2)
    await sleep(1)
    expect(mailbox.close()).to.deep.equal([2])
    await mailbox.idle()
    await sleep(15)
    expect(handled).to.deep.equal([1])
  })
})
