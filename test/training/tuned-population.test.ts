import { setImmediate as turn } from 'node:timers/promises'
import { expect } from 'chai'
import { ActorSystem } from '../../src/runtime/system.js'
import type { PopulationNews } from '../../src/training/population-control.js'
import { TunedPopulation } from '../../src/training/tuned-population.js'
import { idleSupervisor } from '../fakes/idle-supervisor.js'

describe('a population that is tuned', () => {
  for (const how of ['memory does not hold', 'no thread can be started for'] as const)
    it(`goes on with the learners that it has where ${how} those that it settled on`, async () => {
      await using system = new ActorSystem()
      let full = false
      const { supervisor } = await idleSupervisor(system, 4, () => {
        if (full) throw new RangeError('no thread')
      })
      const refusal = () => (full && how === 'memory does not hold' ? 'no memory' : undefined)
      const tuning = { most: 6, threshold: 0.04, window: 0.1, by: 1 }
      const population = new TunedPopulation({ start: 4, tuning, supervisor, refusal })
      const news: PopulationNews[] = []
      let learners = 4
      let [round, position, seconds] = [0, 0, 0]
      for (let look = 0; look < 2000 && news.at(-1)?.action !== 'settle'; look++) {
        round++
        seconds += 0.02
        position += [0, 0, 181, 190, 200, 200, 200][learners]! / 50
        // Others take the machine as soon as it tries fewer than it will settle on.
        full = learners < 4
        const left = { samples: 1e9, seconds: Infinity }
        const members = Array.from({ length: learners }, (_, i) => i)
        if (population.watch({ round, iterations: round, position, notFiniteAt: -1, arrived: [], members, seconds, left })) {
          await population.change(round)
          learners = population.schedule.at(-1)!.learners
        }
        news.push(...population.news())
        await turn()
      }
      expect(news.map(({ action, from, to }) => [action, from, to])).to.deep.equal([
        ['try', 4, 5],
        ['try', 5, 6],
        ['try', 6, 3],
        ['try', 3, 2],
        ['settle', 2, 2]
      ])
      expect(news.at(-1)!.reason).to.match(
        how === 'memory does not hold' ? /^no memory; 2 learners it is$/ : /^3 learners cannot be had: .*no thread; 2/
      )
      expect(population.schedule.at(-1)).to.deep.include({ learners: 2 })
    })
})
