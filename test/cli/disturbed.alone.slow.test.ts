import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { seeded } from '../../src/runtime/testkit/seeded-dispatcher.js'
import { Folder } from '../data/support/files.js'
import { countOf } from '../support/count.js'
import { skip } from '../support/skip.js'
import { SignalledRun, undisturbed } from './support/signalled-run.js'

const KILLS = countOf('ARBALEST_SOAK_KILLS', 1_000)
const DISKS = countOf('ARBALEST_SOAK_DISKS', 200)
/** Disturbances of a run before it is left alone. */
const EACH = 5
/** Runs at once. */
const LANES = 2

describe('arbalest train, disturbed at random', function () {
  this.timeout(3_600_000)
  let folder: Folder
  let expected: unknown
  before(async () => {
    folder = await Folder.make()
    expected = await undisturbed(await newFolder('undisturbed'))
  })
  after(() => folder[Symbol.asyncDispose]())

  it(`by ${KILLS} signals: each run goes on, and ends with the weights of the undisturbed one`, async () => {
    await disturb(KILLS, 'kill', (run) => run.kill())
  })

  it(`by ${DISKS} disks that fill at a random byte: the same, and each says that it was disturbed`, async function () {
    if (spawnSync('prlimit', ['--version']).error) return skip(this, 'prlimit, which limits the length of files, is not installed')
    await disturb(DISKS, 'disk', (run) => run.fill())
  })

  async function disturb(count: number, name: string, by: (run: SignalledRun) => Promise<string>): Promise<void> {
    const ends = new Map<string, number>()
    const began = performance.now()
    const runs = Array.from({ length: Math.ceil(count / EACH) }, (_, run) => run).values()
    const lane = async () => {
      for (const number of runs) {
        const run = new SignalledRun(await newFolder(`${name} ${number}`), seeded(1 + number))
        for (let times = Math.min(EACH, count - EACH * number); times > 0; times--) {
          const end = await by(run)
          ends.set(end, (ends.get(end) ?? 0) + 1)
        }
        expect(await run.finish(), `${name} ${number}`).to.equal(expected)
      }
    }
    await Promise.all(Array.from({ length: LANES }, lane))
    const told = [...ends].sort((a, b) => b[1] - a[1]).map(([end, times]) => `${end} ${times}`)
    console.log(`${count} disturbances in ${((performance.now() - began) / 1000).toFixed(0)} s: ${told.join(', ')}`)
  }

  async function newFolder(name: string): Promise<string> {
    const path = join(folder.path, name)
    await mkdir(path)
    return path
  }
})
