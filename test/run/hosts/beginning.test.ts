import { expect } from 'chai'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GROUP_FILE } from '../../../src/checkpoints/checkpoint.js'
import type { Resumption } from '../../../src/checkpoints/resume.js'
import type { HostsSpec } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'
import { Follower } from '../../../src/run/hosts/follower.js'
import { part } from '../../../src/run/hosts/join.js'
import { hostErrorOf, Leader } from '../../../src/run/hosts/leader.js'
import { RunHost } from '../../../src/run/hosts/run-host.js'
import { refused } from '../../support/codes.js'

describe('A run over hosts that goes on from a checkpoint', () => {
  let dir: string
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'arbalest-beginning-'))
  })
  afterEach(() => rmSync(dir, { recursive: true }))

  it('ends on all hosts with the error of the first one, where that cannot read a file which the others wait for', async () => {
    const specs = [0, 1].map((rank): HostsSpec => ({ kind: 'threads', name: dir, rank, size: 2, deadline: 20 }))
    const [first, second] = await Promise.all(specs.map((spec) => RunHost.open(engine, spec)))
    const leader = new Leader(
      first!,
      () => Promise.resolve(),
      () => {}
    )
    const follower = new Follower(second!)
    writeFileSync(join(dir, GROUP_FILE), 'the states of the group')
    const resumption = { folder: dir, state: { learners: [0, 1] }, learner: (place: number) => join(dir, `lost-${place}`) }
    const error = await refused('DATA_NOT_FOUND', () => leader.begin(resumption as unknown as Resumption, []), 'lost-1')
    leader.end({ order: 'fail', error: hostErrorOf(error) })
    await refused('DATA_NOT_FOUND', () => follower.over, 'lost-1')
    const began = performance.now()
    // The first host knows already.
    await follower.fail(error)
    expect(performance.now() - began).below(1000)
    await Promise.all([part(first!), part(second!)])
    for (const host of [first!, second!]) host[Symbol.dispose]()
  })
})
