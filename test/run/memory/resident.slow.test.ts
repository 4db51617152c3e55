import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { TrainOptions } from '../../../src/index.js'
import { DiskFolder } from '../../support/disk-folder.js'
import { floorOf } from '../support/limited-run.js'

const program = (name: string) => fileURLToPath(new URL(`../support/${name}.js`, import.meta.url))

/** JavaScript's heap grows by tens of megabytes as it likes; these options let it collect its garbage at once. */
const SMALL_HEAP = ['--max-semi-space-size=1', '--max-old-space-size=64']

/** The heap and the machine code of JavaScript differ by so much between two processes that do the same. */
const VARIES = 4e6

function printed(name: string, ...given: readonly string[]): unknown {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...SMALL_HEAP, program(name), ...given], { encoding: 'utf8' })
  expect(status, stderr).to.equal(0)
  return JSON.parse(stdout)
}

interface Resident {
  readonly most: number
  readonly counted: number
  readonly weightsSha256: string
}

describe("a process's resident memory", function () {
  this.timeout(600_000)

  it('stays within the limit of its run, and what the same run without a limit takes beside its device', async () => {
    await using folder = await DiskFolder.make()
    const base = { model: 'resnet20', data: 'digits', batch: 512, learners: 1, threads: 2, until: { steps: 3 }, seed: 2 } as const
    for (const spill of [{}, { spill: folder.path }]) {
      const limit = { ...spill, deviceMemory: await floorOf({ ...base, ...spill }) }
      const resident = (options: TrainOptions) => printed('resident-run', JSON.stringify(options)) as Resident
      const [whole, limited] = [resident(base), resident({ ...base, ...limit })]
      const baseline = whole.most - whole.counted
      expect(limited.most, JSON.stringify({ whole, limited })).to.be.at.most(baseline + limit.deviceMemory + VARIES)
      expect(limited.counted).to.be.at.most(limit.deviceMemory)
      expect(limited.most).to.be.below(0.6 * whole.most)
      expect(limited.weightsSha256).to.equal(whole.weightsSha256)
    }
  })

  it('does not grow by copies of a model whose vectors lie in the second tier', async () => {
    await using folder = await DiskFolder.make()
    const figures = printed('resident-vectors-run', folder.path) as { beyond: number; deviceMemory: number; vector: number }
    const { beyond, deviceMemory, vector } = figures
    expect(deviceMemory).to.be.below(vector)
    expect(beyond, JSON.stringify(figures)).to.be.at.most(deviceMemory + 2.25 * vector + 20e6)
  })
})
