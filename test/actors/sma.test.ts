import { expect } from 'chai'
import { sma } from '../../src/rules/sma.js'
import { thrown } from '../support/thrown.js'

describe('the numbers of synchronous model averaging', () => {
  it('are those of the rule where nothing is said', () => {
    expect(sma({}, { learners: 3 })).to.deep.equal({
      kind: 'synchronous',
      central: { kind: 'sma', alpha: null, momentum: 0 },
      adopts: false,
      period: 1,
      from: 0
    })
  })

  it('are refused outside of their ranges, each by its name', () => {
    for (const [parameter, value] of [
      ['period', 0],
      ['period', 1.5],
      ['alpha', 0],
      ['alpha', 1],
      ['alpha', NaN],
      ['syncMomentum', -0.1],
      ['syncMomentum', 1]
    ] as const) {
      const error = thrown(() => sma({ [parameter]: value }, { learners: 2 }))
      expect(error.code).to.equal('INVALID_OPTION')
      expect(error.message).to.contain(`synchroniser.${parameter}: received ${value}`)
    }
  })

  it('are refused exactly where the average at rate zero grows without bound', () => {
    for (const learners of [1, 2, 3, 5, 16]) {
      for (const syncMomentum of [0, 0.5, 0.9]) {
        for (const alpha of [0.05, 0.2, 0.35, 0.5, 0.7, 0.95]) {
          // On the bound itself the average neither grows nor dies out.
          if (Math.abs(learners * alpha - (2 - alpha) * (1 + syncMomentum)) < 1e-3) continue
          let accepted = true
          try {
            sma({ alpha, syncMomentum }, { learners })
          } catch {
            accepted = false
          }
          expect(accepted, `k=${learners} alpha=${alpha} mu=${syncMomentum}`).to.equal(settles(learners, alpha, syncMomentum))
        }
      }
    }
  })
})

/** Whether k learners at 1 and a central model at 0 come to rest by corrections alone. */
function settles(learners: number, alpha: number, mu: number): boolean {
  let w = 1
  let z = 0
  let before = 0
  for (let round = 0; round < 20_000 && Math.abs(w) + Math.abs(z) < 1e6; round++) {
    const correction = alpha * (w - z)
    w -= correction
    const next = z + learners * correction + mu * (z - before)
    before = z
    z = next
  }
  return Math.abs(w - z) < 1
}
