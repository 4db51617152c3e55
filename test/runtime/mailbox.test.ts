import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { Mailbox } from '../../src/runtime/mailbox.js'

describe('a mailbox', () => {
  it('handles nothing before it is open, then everything in order', async () => {
    const handled: number[] = []
    const mailbox = new Mailbox<number>((item) => void handled.push(item))
    mailbox.put(1)
    mailbox.put(2)
    await sleep(1)
    expect(handled).to.deep.equal([])
    mailbox.open()
    mailbox.put(3)
    await sleep(1)
    expect(handled).to.deep.equal([1, 2, 3])
  })

  it('never handles an item inside of the call that puts it there', async () => {
    const events: string[] = []
    const mailbox = new Mailbox<string>((item) => {
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

  it('waits for the item in hand when it is closed, and forgets the others', async () => {
    const handled: number[] = []
    const mailbox = new Mailbox<number>(async (item) => {
      await sleep(5)
      handled.push(item)
    })
    mailbox.open()
    mailbox.put(1)
    mailbox.put(2)
    await sleep(1)
    await mailbox.close()
    await sleep(15)
    expect(handled).to.deep.equal([1])
  })
})
