import { expect } from 'chai'
import { ArbalestError, messageOf } from '../../src/errors.js'
import { asError, packError, unpackError } from '../../src/runtime/errors-across-threads.js'
import { heap } from './support/heap.js'

const across = (thrown: unknown) => unpackError(structuredClone(packError(thrown)))

describe('errors across threads', () => {
  it('arrive as ArbalestErrors with all their properties', () => {
    const cause = new ArbalestError('DATA_CORRUPT', 'idx: short', { data: { file: 'a' } })
    const error = new ArbalestError('LEARNER_FAILED', 'learner 1: ended', { cause, data: { learner: 1 } })
    const arrived = across(error) as ArbalestError
    expect(arrived).to.be.instanceOf(ArbalestError)
    expect(arrived).to.include({ name: 'ArbalestError', code: 'LEARNER_FAILED', message: 'learner 1: ended', stack: error.stack })
    expect(arrived.data).to.deep.equal({ learner: 1 })
    expect(arrived.cause).to.be.instanceOf(ArbalestError).with.property('code', 'DATA_CORRUPT')
  })

  it('keep built-in classes, and the names, codes and data of others', () => {
    expect(across(new RangeError('far')))
      .to.be.instanceOf(RangeError)
      .with.property('message', 'far')
    class Odd extends Error {
      override name = 'Odd'
      code = 'ODD'
      data = { n: 1 }
    }
    const odd = across(new Odd('strange'))
    expect(odd).to.be.instanceOf(Error).and.to.include({ name: 'Odd', code: 'ODD', message: 'strange' })
    expect(odd).to.have.deep.property('data', { n: 1 })
  })

  it('keep codes that are numbers, and the errors of an AggregateError with all their properties', () => {
    const exit = Object.assign(new Error('Command failed'), { code: 2 })
    expect(across(exit)).to.have.property('code', 2)
    const all = across(new AggregateError([exit, new ArbalestError('DATA_CORRUPT', 'idx: short'), 'no error'], 'none', { cause: exit }))
    expect(all).to.be.instanceOf(AggregateError).and.to.include({ name: 'AggregateError', message: 'none' })
    const { errors, cause } = all as AggregateError
    expect(errors).to.have.length(3)
    expect(errors[0]).to.include({ message: 'Command failed', code: 2 })
    expect(errors[1]).to.be.instanceOf(ArbalestError).with.property('code', 'DATA_CORRUPT')
    expect(errors[2]).to.equal('no error')
    expect(cause).to.have.property('code', 2)
    const round = new AggregateError([])
    round.errors = Array.from({ length: 30 }, () => round)
    expect(across(round)).to.be.instanceOf(AggregateError)
  })

  it('arrive also where their name, message or stack was replaced by what cannot be cloned', () => {
    const replaced = Object.assign(new Error('first'), { name: Symbol('odd'), message: () => {}, stack: [() => {}] })
    expect(across(replaced)).to.be.instanceOf(Error).with.property('name', 'Symbol(odd)')
  })

  it('arrive also where looking at them throws, with what can be read', () => {
    const trap = () => {
      throw new Error('trap')
    }
    const revoked = Proxy.revocable({}, {})
    revoked.revoke()
    const hostile = [new Proxy({}, { get: trap }), new Proxy({}, { get: trap, getPrototypeOf: trap, ownKeys: trap }), revoked.proxy]
    for (const each of [...hostile, new Proxy(new Error('inner'), { get: trap }), Object.create(null) as object]) {
      expect(() => across(each)).to.not.throw()
      expect(asError(across(each)).message).to.be.a('string')
      expect(asError(each).message).to.be.a('string')
      expect(messageOf(each)).to.be.a('string')
    }
    const half = Object.defineProperty(Object.assign(new RangeError('far'), { code: 'FAR' }), 'cause', { get: trap })
    expect(across(half)).to.be.instanceOf(RangeError).and.to.include({ message: 'far', code: 'FAR' })
    expect(asError(half)).to.include({ message: 'far', code: 'FAR' })
    expect(asError(half).cause).to.equal(undefined)
  })

  it('survive properties that cannot be cloned, cyclic causes, and thrown values that are no errors', () => {
    const error = new ArbalestError('INTERNAL', 'odd data', { data: { call: () => {} } })
    expect(across(error)).to.have.property('code', 'INTERNAL')
    const circle = new Error('round')
    circle.cause = circle
    expect(across(circle)).to.have.property('message', 'round')
    expect(across(7)).to.equal(7)
    expect(asError(across(undefined)))
      .to.be.instanceOf(Error)
      .with.property('message', 'thrown: undefined')
  })

  it('are made of thrown values that cannot be cloned', () => {
    expect(across('Symbol(odd)')).to.equal('Symbol(odd)')
    for (const [thrown, message] of [
      [Symbol('odd'), 'thrown: Symbol(odd)'],
      [() => {}, 'thrown: a function']
    ] as const)
      for (const arrived of [across(thrown), (across(new Error('of it', { cause: thrown })) as Error).cause])
        expect(arrived).to.be.instanceOf(Error).with.property('message', message)
  })

  it('do not keep what has received them', async () => {
    // From Node.js 22 on, errors keep the frames in which they were made until their stack is read.
    class Receiver {
      readonly received = across(new RangeError('far'))
    }
    const kept: unknown[] = []
    const receivers = Array.from({ length: 10 }, () => {
      const receiver = new Receiver()
      kept.push(receiver.received)
      return new WeakRef(receiver)
    })
    // A WeakRef keeps what it was made for until the turn ends.
    await new Promise(setImmediate)
    heap()
    expect(receivers.filter((receiver) => receiver.deref() !== undefined)).to.have.length(0)
    expect(kept).to.have.length(10)
  })
})
