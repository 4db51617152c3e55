import { expect } from 'chai'
import { settingsOf } from '../../../src/options/settings.js'
import { checkGrowth, measuredNeed, MemoryBudget, reserveGrowth } from '../../../src/run/memory/budget.js'
import { beyondLimit } from '../../../src/run/memory/fit-run.js'
import { engine } from '../../fakes/engine.js'
import { refused } from '../../support/codes.js'

const MIB = 2 ** 20

describe('the memory budget of a run', () => {
  const budget = (mebibytes: number, devices: number) => new MemoryBudget({ free: mebibytes * MIB, devices })
  const need = { perLearner: 68 * MIB, shared: 100 * MIB }

  it('is that of each device, in each of which all lies that learners share', () => {
    // With what a thread takes, and a quarter of it to spare, a learner is 125 MiB.
    expect(budget(450, 1).mostTuned(need)).to.equal(2)
    expect(budget(450, 4).mostTuned(need)).to.equal(8)
    expect(budget(90, 4).mostTuned(need)).to.equal(0)
  })

  it('is kept ready on GPUs for as many learners again as a tuned run begins with, within half of what is free', () => {
    const reserved = (learners: number, most: number, free: number, backend: 'cuda' | 'cpu' = 'cuda') => {
      const calls: unknown[] = []
      const own = { ...engine, freeMemory: () => free, reserve: (...call: unknown[]) => void calls.push(call) }
      const device = { cores: [] }
      const tuning = { most, threshold: 0.04, window: 0.5, by: 2 }
      const population = { schedule: [{ round: 0, learners }], tuning }
      reserveGrowth(own, { backend, devices: { devices: [device, device], levels: [], ordered: false }, learners, population }, need)
      return calls
    }
    const each = need.perLearner
    expect(reserved(4, 12, 1000 * MIB)).to.deep.equal([['cuda', 2, 2 * each]])
    expect(reserved(4, 6, 1000 * MIB)).to.deep.equal([['cuda', 2, each]])
    expect(reserved(8, 12, 2 * 68 * MIB)).to.deep.equal([['cuda', 2, each]])
    for (const none of [reserved(4, 4, 1000 * MIB), reserved(4, 12, 100 * MIB), reserved(4, 12, 1000 * MIB, 'cpu')])
      expect(none).to.have.length(0)
  })

  it('is reckoned on GPUs by what the first learners have really taken, where that is more', () => {
    const proven = (taken: number, backend: 'cuda' | 'cpu' = 'cuda') => {
      const devices = { devices: [{ cores: [] }, { cores: [] }], levels: [], ordered: false }
      const own = { ...engine, freeMemory: () => 1000 * MIB - taken }
      return measuredNeed(own, { backend, devices, learners: 3 }, need, budget(1000, 2))
    }
    expect(proven(300 * MIB)).to.deep.equal({ perLearner: 100 * MIB, shared: 100 * MIB })
    expect(proven(200 * MIB)).to.deep.equal(need)
    expect(proven(300 * MIB, 'cpu')).to.deep.equal(need)
  })

  it('is looked at on the device that gets most of them', async () => {
    budget(100 + 2 * 68, 4).check(need, 5)
    const crowded = () => budget(100 + 2 * 68, 4).check(need, 9)
    await refused('OUT_OF_MEMORY', crowded, 'received 9', 'together 304.0 MiB on a device', 'use at most 8')
    await refused('OUT_OF_MEMORY', () => budget(150, 1).check(need, 1), 'use a smaller batch, model or data set')
    await refused('OUT_OF_MEMORY', () => budget(90, 1).check(need, 1), 'or data set; of a folder of images, images.size or images.prefetch')
    expect(budget(125, 4).refusal(need, 4)).to.equal(undefined)
    expect(budget(125, 4).refusal(need, 5)).to.match(/^no memory for 5 more: 250.0 MiB are wanted where 125.0 MiB/)
  })

  it('is not enough by what is received, and enough by what a refusal asks for, however both are rounded', () => {
    const bytesOf = (told: string) => settingsOf({ model: 'mlp', data: 'digits', deviceMemory: told }).deviceMemory as { bytes: number }
    for (const floor of [37_038_080, 50_840_000, 50_860_000, 3 * MIB]) {
      const { message } = beyondLimit({ limit: floor - 1, floor, batch: 1, learners: 1 })
      const [, received, least] = /received (.+ MiB), .* use at least (.+ MiB)$/.exec(message)!
      expect(bytesOf(received!).bytes, message).to.be.below(floor)
      expect(bytesOf(least!).bytes, message).to.be.within(floor, floor + MIB / 10)
    }
  })

  it('counts the threads of learners that a program adds, which lie in the memory of the machine', async () => {
    const grow = (backend: 'cpu' | 'cuda', machine: number, onDevice: number, deviceMemory: 'auto' | { bytes: number } = 'auto') => {
      const own = { ...engine, describe: () => ({ ...engine.describe(), freeMemory: machine * MIB }), freeMemory: () => onDevice * MIB }
      const cpu = { ...own, freeMemory: () => undefined }
      const devices = { devices: [{ cores: [] }], levels: [], ordered: false }
      checkGrowth(backend === 'cuda' ? own : cpu, { backend, devices, deviceMemory }, need, { there: 2, wanted: 12 })
    }
    // Ten more take 680 MiB, and their threads 320.
    grow('cpu', 1000, 0)
    await refused('OUT_OF_MEMORY', () => grow('cpu', 999, 0), 'received 12', '10 more', '1000.0 MiB', '999.0 MiB are free', 'at most 11')
    grow('cuda', 320, 680)
    await refused('OUT_OF_MEMORY', () => grow('cuda', 319, 680), '10 more', '320.0 MiB', '319.0 MiB are free', 'at most 11')
    await refused('OUT_OF_MEMORY', () => grow('cuda', 320, 679), '10 more', '680.0 MiB', '679.0 MiB are free', 'at most 11')
    // A limit is for what the engine allocates.
    grow('cpu', 1000, 0, { bytes: (100 + 12 * 68) * MIB })
    await refused('OUT_OF_MEMORY', () => grow('cpu', 1000, 0, { bytes: (99 + 12 * 68) * MIB }), 'allowed by deviceMemory')
  })
})
