import { expect } from 'chai'
import { loggable } from '../../src/observe/run-event.js'

describe('settings in a log', () => {
  it('end where they hold themselves, and tell twice what they hold twice', () => {
    const shared = { rate: 1 }
    const list: unknown[] = [shared]
    const options: Record<string, unknown> = { a: shared, b: shared, list }
    options['self'] = options
    list.push(list, options)
    expect(loggable({ learnerOptions: options })).to.deep.equal({
      learnerOptions: { a: { rate: 1 }, b: { rate: 1 }, list: [{ rate: 1 }, '[circular]', '[circular]'], self: '[circular]' }
    })
  })
})
