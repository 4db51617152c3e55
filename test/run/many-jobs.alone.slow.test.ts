import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { countOf } from '../support/count.js'
import type { Holding } from './support/many-jobs.js'

const SCRIPT = new URL('./support/many-jobs.js', import.meta.url).pathname
const JOBS = countOf('ARBALEST_SOAK_JOBS', 10_000)
const LOOKS = 40

describe(`${JOBS} short jobs in one process`, function () {
  this.timeout(4 * 3_600_000)

  it('leave nothing behind: memory, threads and file descriptors stay as they are', async () => {
    const began = performance.now()
    const period = Math.max(1, Math.floor(JOBS / LOOKS))
    const child = spawn(process.execPath, ['--expose-gc', SCRIPT, String(JOBS), String(period)], { stdio: ['ignore', 'pipe', 'inherit'] })
    const held: Holding[] = []
    for await (const line of createInterface(child.stdout)) held.push(JSON.parse(line) as Holding)
    if (child.exitCode === null) await once(child, 'exit')
    expect(child.exitCode).to.equal(0)
    // The first quarter warms up: code is compiled, pools of memory grow to what a job needs.
    const settled = held.slice(Math.ceil(held.length / 4))
    const [early, late] = [settled.slice(0, Math.ceil(settled.length / 2)), settled.slice(Math.ceil(settled.length / 2))]
    const most = (looks: readonly Holding[], what: keyof Holding) => Math.max(...looks.map((look) => look[what]))
    const told = (looks: readonly Holding[]) =>
      `${(most(looks, 'rss') / 2 ** 20).toFixed(1)} MiB resident, ${(most(looks, 'heap') / 2 ** 20).toFixed(1)} MiB heap, ${most(looks, 'threads')} threads, ${most(looks, 'descriptors')} descriptors`
    console.log(`${JOBS} jobs in ${((performance.now() - began) / 1000).toFixed(0)} s: ${told(early)}; then ${told(late)}`)
    expect(most(late, 'rss'), told(late)).to.be.at.most(1.05 * most(early, 'rss'))
    expect(most(late, 'heap'), told(late)).to.be.at.most(1.05 * most(early, 'heap'))
    for (const what of ['threads', 'descriptors', 'resources'] as const) expect(most(late, what), what).to.be.at.most(most(early, what))
  })
})
