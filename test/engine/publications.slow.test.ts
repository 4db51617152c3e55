import { testedBackends } from './support/backends.js'
import { expectEqualCopies, LEVELS, mostDevices } from './support/level-cases.js'
import { CASES, expectPublication } from './support/rule-pair.js'

const ROUNDS = 50

for (const { name: backend } of testedBackends())
  describe(`synchronous rules on ${backend}, for long`, function () {
    this.timeout(600_000)

    for (const [name, each] of Object.entries(CASES))
      it(`${name} equals its publication over ${ROUNDS} rounds, whatever the number of learners, the period and the levels`, () => {
        for (const learners of [1, 2, 3, 5]) {
          for (const period of each.periods ?? [1, 3]) expectPublication(backend, each, { learners, period, rounds: ROUNDS }).release()
          if (each.levels === false) continue
          for (const [what, levels] of Object.entries(LEVELS)) {
            if (levels.devices > mostDevices(backend)) continue
            const run = expectPublication(backend, each, { learners, period: 1, rounds: ROUNDS, levels })
            expectEqualCopies(run, levels.devices, `${what}, ${learners} learners`)
            run.release()
          }
        }
      })
  })
