import { expect } from 'chai'
import { Mailbox } from '../../src/runtime/mailbox.js'
import { ThreadDispatcher } from '../../src/runtime/dispatcher.js'

const compute = (milliseconds: number): void => {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

describe('The dispatcher of a thread', () => {
  for (const [kind, handle] of [
    ['messages', compute],
    ['messages with promises', async (milliseconds: number) => compute(milliseconds)]
  ] as const)
    for (const [milliseconds, messages] of [
      [0, 1_000_000],
      [1, 1_000],
      [30, 50]
    ] as const)
      it(`lets timers run between ${kind} of ${milliseconds} ms`, async () => {
        let left: number = messages
        const mailbox = new Mailbox<number>(new ThreadDispatcher(), (item) => {
          if (--left > 0) mailbox.put(item)
          return handle(item)
        })
        mailbox.open()
        mailbox.put(milliseconds)
        await new Promise((resolve) => setTimeout(resolve, 1))
        expect(left).to.be.greaterThan(0)
        left = 0
      })
})
