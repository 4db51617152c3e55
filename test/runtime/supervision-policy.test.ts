import { expect } from 'chai'
import { restartedTogether, decide, DEFAULT_POLICY, type Failure, type RestartType } from '../../src/runtime/supervision-policy.js'

const CRASH: Failure['reason'] = { kind: 'failed', error: new Error('x') }
const BACKOFF = { first: 100, factor: 3, longest: 1_000, jitter: 0.5 }
const at = (moment: number, reason: Failure['reason'] = CRASH): Failure => ({ at: moment, reason })
const decideAt = (moment: number, past: readonly Failure[], chance = 0) =>
  decide('permanent', at(moment), past, { restarts: 3, within: 1_000 }, BACKOFF, chance)

describe('A supervision policy', () => {
  const table: readonly [RestartType, Failure['reason'], string][] = [
    ['permanent', { kind: 'stopped' }, 'restart'],
    ['permanent', CRASH, 'restart'],
    ['permanent', { kind: 'exited', code: 0 }, 'restart'],
    ['transient', { kind: 'stopped' }, 'leave'],
    ['transient', CRASH, 'restart'],
    ['transient', { kind: 'exited', code: 0 }, 'restart'],
    ['temporary', { kind: 'stopped' }, 'leave'],
    ['temporary', CRASH, 'leave'],
    ['temporary', { kind: 'exited', code: 1 }, 'leave']
  ]
  for (const [type, reason, expected] of table) {
    it(`of a ${type} actor that ${reason.kind}: ${expected}`, () => {
      const { intensity, backoff } = DEFAULT_POLICY
      expect(decide(type, at(0, reason), [], intensity, backoff, 0).kind).to.equal(expected)
    })
  }

  it('escalates at the first failure beyond the intensity, and forgets older failures', () => {
    const past = [at(0), at(400), at(800)]
    expect(decideAt(999, past)).to.deep.include({ kind: 'escalate', failures: [...past, at(999)] })
    expect(decideAt(1_000, past)).to.deep.include({ kind: 'restart', failures: [at(400), at(800), at(1_000)] })
  })

  it('waits longer at each failure within the window, up to the longest, shortened at random', () => {
    expect(decideAt(0, [])).to.include({ delay: 100 })
    expect(decideAt(0, [at(0)])).to.include({ delay: 300 })
    expect(decideAt(0, [at(0), at(0)])).to.include({ delay: 900 })
    expect(decideAt(0, [at(0), at(0)], 0.5)).to.include({ delay: 675 })
    expect(decide('permanent', at(0), [at(0), at(0), at(0)], { restarts: 9, within: 1 }, BACKOFF, 0)).to.include({ delay: 1_000 })
  })

  it('restarts together the children that the strategy names', () => {
    expect(restartedTogether('oneForOne', ['a', 'b', 'c'], 'b')).to.deep.equal(['b'])
    expect(restartedTogether('restForOne', ['a', 'b', 'c'], 'b')).to.deep.equal(['b', 'c'])
    expect(restartedTogether('allForOne', ['a', 'b', 'c'], 'b')).to.deep.equal(['a', 'b', 'c'])
  })
})
