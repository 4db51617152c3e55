import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { TrainOptions } from '../../../src/index.js'
import { DiskFolder } from '../../support/disk-folder.js'
import { floorOf } from '../support/limited-run.js'

const program = (name: string) => fileURLToPath(new URL(`../support/${name}.js`, import.meta.url))

/** JavaScript's heap grows by tens of megabytes as it likes; these options let it collect its garbage at once. */
const SMALL_HEAP = ['--max-semi-space-size=1', '--max-old-space-size=64']

function printed<Answer>(name: string, argument: string): Answer {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...SMALL_HEAP, program(name), argument], { encoding: 'utf8' })
  expect(status, stderr).to.equal(0)
  return JSON.parse(stdout) as Answer
}

function resident(options: TrainOptions): { readonly beyond: number; readonly weightsSha256: string } {
  return printed('resident-run', JSON.stringify(options))
}

describe("a process's resident memory", function () {
  this.timeout(600_000)

  it('stays within the limit of its run, but for what any run takes', async () => {
    await using folder = await DiskFolder.make()
    const base = { model: 'resnet20', data: 'digits', batch: 512, learners: 1, threads: 2, until: { steps: 3 }, seed: 2 } as const
    const whole = resident(base)
    for (const spill of [undefined, folder.path]) {
      const options = spill === undefined ? base : { ...base, spill }
      const deviceMemory = await floorOf(options)
      const limited = resident({ ...options, deviceMemory })
      expect(limited.beyond).to.be.at.most(deviceMemory)
      expect(limited.beyond).to.be.below(0.7 * whole.beyond)
      expect(limited.weightsSha256).to.equal(whole.weightsSha256)
    }
  })

  it('does not grow by copies of a model whose vectors lie in the second tier', async () => {
    await using folder = await DiskFolder.make()
    const figures = printed<{ beyond: number; deviceMemory: number; vector: number }>('resident-vectors-run', folder.path)
    const { beyond, deviceMemory, vector } = figures
    expect(deviceMemory).to.be.below(vector)
    expect(beyond, JSON.stringify(figures)).to.be.at.most(deviceMemory + 2.25 * vector + 20e6)
  })
})
