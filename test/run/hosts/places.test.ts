import { expect } from 'chai'
import { serialize } from 'node:v8'
import type { Engine } from '../../../src/engine/contract.js'
import { settingsOf } from '../../../src/options/settings.js'
import { allLearners } from '../../../src/run/hosts/all-learners.js'
import { RunHost } from '../../../src/run/hosts/run-host.js'
import { refused } from '../../support/codes.js'

/** What each host tells the others first, as a message between hosts. */
const INTRODUCTION = Uint8Array.of(1, ...serialize({ role: 'trains', jobs: 1 }))

/** An engine that knows of hosts only which of them this one is, and that all of them train. */
function hostOf(rank: number, size: number): Promise<RunHost> {
  const engine = {
    openHosts: () => 1,
    hostsPlace: () => ({ rank, size }),
    watchHosts: () => {},
    lostHosts: () => [],
    sendToHost: () => {},
    takeFromHost: () => INTRODUCTION,
    release: () => {}
  } as unknown as Engine
  return RunHost.open(engine, { kind: 'threads', name: 'places', rank, size, deadline: 1 })
}

describe('The learners of a run on its hosts', () => {
  for (const [size, all] of [
    [1, 3],
    [2, 4],
    [2, 5],
    [3, 3],
    [4, 9]
  ] as const)
    it(`have one place each: ${all} on ${size}`, async () => {
      const places: number[] = []
      for (let rank = 0; rank < size; rank++) {
        using host = await hostOf(rank, size)
        const own = Array.from({ length: host.learnersOf(all) }, (_, i) => host.placeOf(i))
        expect(host.ownPlaces(own)).to.deep.equal(own.map((_, i) => i))
        expect(host.ownPlaces(Array.from({ length: all }, (_, place) => place))).to.have.length(own.length)
        places.push(...own)
      }
      expect(places.toSorted((a, b) => a - b)).to.deep.equal(Array.from({ length: all }, (_, place) => place))
    })

  it('are captured together by their places, and meet host by host', async () => {
    using host = await hostOf(0, 2)
    const [a, b, c] = [new Uint8Array([1]), new Uint8Array([2]), new Uint8Array([3])]
    // On the first host the learner in its place 0 has died, and another has come for it; on the second host a learner has not begun.
    const own = { learners: [11, 12], order: [1, 0] }
    const other = { files: new Map([[1, a]]), meets: [1, 3], states: new Map() }
    expect(allLearners(host, own, [other])).to.deep.equal({ learners: [11, a, 12, null], order: [2, 1, 0, 3] })
    const whole = { files: new Map([[1, b], [3, c]]), meets: [3, 1], states: new Map() } // prettier-ignore
    expect(allLearners(host, { learners: [11, null], order: [0, 1] }, [whole])).to.deep.equal({
      learners: [11, b, null, c],
      order: [0, 3, 2, 1]
    })
  })
})

describe('The settings of a run over hosts', () => {
  const given = { model: 'mlp', data: 'digits' } as const

  it('have the learners of all hosts, and a level of them', async () => {
    using host = await hostOf(1, 2)
    const { learners, population, devices } = host.settingsOf(settingsOf({ ...given, learners: 5 }))
    expect({ learners, population }).to.deep.equal({
      learners: 5,
      population: { schedule: [{ round: 0, learners: 5 }], tuning: undefined }
    })
    expect(devices.levels).to.deep.equal(['hosts'])
    expect(host.ownSettings({ learners, population }).learners).to.equal(2)
  })

  it('have as many on each host as one process begins with, if no number is given', async () => {
    using host = await hostOf(0, 3)
    const alone = settingsOf(given)
    expect(host.settingsOf(alone).learners).to.equal(3 * alone.learners)
  })

  it('tune as many learners for each host', async () => {
    using host = await hostOf(0, 3)
    const alone = settingsOf(given).population.tuning!
    expect(host.settingsOf(settingsOf(given)).population.tuning).to.deep.equal({ ...alone, most: 3 * alone.most, by: 3 })
  })

  it('tune no more learners on all hosts together than the rule takes', async () => {
    using host = await hostOf(0, 2)
    const synchroniser = { name: 'sma', alpha: 0.3 } as const
    const { population, learners } = host.settingsOf(settingsOf({ ...given, synchroniser, learners: { initial: 2, max: 5 } }))
    // At alpha 0.3 averaging is stable with five learners, and not with six.
    expect({ learners, most: population.tuning!.most }).to.deep.equal({ learners: 4, most: 4 })
  })

  it('follow a schedule, with the learners of each host in its turn', async () => {
    using host = await hostOf(1, 2)
    const schedule = [{ round: 0, learners: 4 }, { round: 9, learners: 7 }] // prettier-ignore
    const settings = host.settingsOf(settingsOf({ ...given, learners: { schedule } }))
    expect(settings.population.schedule).to.deep.equal(schedule)
    expect(host.ownSettings(settings).population.schedule.map(({ learners }) => learners)).to.deep.equal([2, 3])
  })

  it('are refused with fewer learners than hosts, and a dry run', async () => {
    using host = await hostOf(0, 4)
    await refused('INVALID_OPTION', () => host.settingsOf(settingsOf({ ...given, learners: 3 })), 'learners: received 3', 'at least 4')
    const schedule = [{ round: 0, learners: 4 }, { round: 9, learners: 2 }] // prettier-ignore
    await refused('INVALID_OPTION', () => host.settingsOf(settingsOf({ ...given, learners: { schedule } })), 'learners: received 2')
    await refused('INVALID_OPTION', () => host.settingsOf(settingsOf({ ...given, learners: 4, dryRun: true })), 'dryRun')
  })
})
