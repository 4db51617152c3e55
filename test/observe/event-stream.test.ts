import { expect } from 'chai'
import { EventStream } from '../../src/observe/event-stream.js'
import { rejection } from '../support/rejection.js'

async function read<T>(events: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = []
  for await (const event of events) seen.push(event)
  return seen
}

describe('a stream of events', () => {
  it('lets a reader leave early without harm to the others', async () => {
    const stream = new EventStream<number>()
    const all = read(stream)
    const first = (async () => {
      for await (const event of stream) return event
      return undefined
    })()
    await Promise.resolve()
    for (const event of [1, 2, 3]) stream.push(event)
    stream.end()
    expect(await first).to.equal(1)
    expect(await all).to.deep.equal([1, 2, 3])
  })

  it('keeps the newest events for a reader that lags, and the end', async () => {
    const stream = new EventStream<number>()
    const reader = stream[Symbol.asyncIterator]()
    for (let i = 0; i < 5000; i++) stream.push(i)
    stream.end()
    const seen: number[] = []
    for (let next = await reader.next(); !next.done; next = await reader.next()) seen.push(next.value)
    expect(seen).to.have.length(1024)
    expect(seen.at(-1)).to.equal(4999)
  })

  it('drops for a reader that lags what may be missed, and nothing else while there is some', async () => {
    const stream = new EventStream<number>((event) => event % 100 !== 0)
    const reader = stream[Symbol.asyncIterator]()
    for (let i = 0; i < 5000; i++) stream.push(i)
    stream.end()
    const seen = await read(reader)
    expect(seen).to.have.length(1024)
    expect(seen.filter((event) => event % 100 === 0)).to.have.length(50)
    expect(seen).to.include.members([0, 100, 4998, 4999])
    expect(seen).to.deep.equal(seen.toSorted((a, b) => a - b))
  })

  it('answers every one of several questions at once, in their order', async () => {
    const stream = new EventStream<number>()
    const reader = stream[Symbol.asyncIterator]()
    const asked = Promise.all([reader.next(), reader.next(), reader.next()])
    stream.push(1)
    stream.push(2)
    stream.end()
    expect((await asked).map(({ value }) => value)).to.deep.equal([1, 2, undefined])
  })

  it('lets a reader that has taken some events loop over the others', async () => {
    const stream = new EventStream<number>()
    const reader = stream[Symbol.asyncIterator]()
    for (const event of [1, 2, 3]) stream.push(event)
    stream.end()
    expect(await reader.next()).to.deep.equal({ done: false, value: 1 })
    expect(await read(reader)).to.deep.equal([2, 3])
    expect(await reader.next()).to.deep.equal({ done: true, value: undefined })
  })

  it('throws its error after what came before it', async () => {
    const stream = new EventStream<number>()
    const reader = stream[Symbol.asyncIterator]()
    stream.push(1)
    const error = new Error('broken')
    stream.end({ error })
    expect(await reader.next()).to.deep.equal({ done: false, value: 1 })
    expect(await rejection(reader.next())).to.equal(error)
    expect(await reader.next()).to.deep.equal({ done: true, value: undefined })
  })

  it('wakes a reader that waits when its loop is left from outside', async () => {
    const reader = new EventStream<number>()[Symbol.asyncIterator]()
    const waiting = reader.next()
    await reader.return!()
    expect(await waiting).to.deep.equal({ done: true, value: undefined })
  })
})
