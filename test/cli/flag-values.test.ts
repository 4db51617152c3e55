import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { invalidFlag } from '../../src/cli/flag-values.js'
import { devicesFromText } from '../../src/options/devices.js'
import { learnersFromText } from '../../src/options/learners.js'

const learnersFlag = (text: string) => learnersFromText(text, (fix) => invalidFlag('--learners', text, fix))
const devicesFlag = (text: string) => devicesFromText(text, (fix) => invalidFlag('--devices', text, fix))

describe('--learners', () => {
  const schedule = [{ round: 0, learners: 2 }]
  let folder: string
  before(() => (folder = mkdtempSync(join(tmpdir(), 'learners-'))))
  after(() => rmSync(folder, { recursive: true }))

  const file = (text: string) => {
    const path = join(folder, 'given')
    writeFileSync(path, text)
    return learnersFlag(`@${path}`)
  }

  it('takes a number, auto, bounds and schedules', () => {
    expect(learnersFlag('3')).to.equal(3)
    expect(learnersFlag('auto')).to.equal('auto')
    expect(learnersFlag('{"initial":1,"max":4}')).to.deep.equal({ initial: 1, max: 4 })
    expect(learnersFlag(JSON.stringify(schedule))).to.deep.equal({ schedule })
  })

  it('takes a file of such, or the log of a run', () => {
    expect(file(JSON.stringify(schedule, null, 2))).to.deep.equal({ schedule })
    expect(file(`{"event":"started"}\n${JSON.stringify({ event: 'finished', population: schedule })}\n`)).to.deep.equal({ schedule })
  })

  it('refuses anything else, and says what it is', () => {
    expect(() => learnersFlag('many')).to.throw('--learners: received "many"; use a whole number')
    expect(() => learnersFlag('[{')).to.throw(/--learners: received "\[\{"; it is not valid JSON/)
    expect(() => learnersFlag('@/nowhere')).to.throw(/--learners: received "@\/nowhere"; the file cannot be read/)
  })
})

describe('--devices', () => {
  it('takes a number, and the cores of each device', () => {
    expect(devicesFlag('2')).to.equal(2)
    expect(devicesFlag('0-2:3')).to.deep.equal([{ cores: [0, 1, 2] }, { cores: [3] }])
    expect(devicesFlag('0,4-5:1')).to.deep.equal([{ cores: [0, 4, 5] }, { cores: [1] }])
  })

  it('refuses anything else, and says what it is', () => {
    expect(() => devicesFlag('two')).to.throw('--devices: received "two"; use a whole number')
    for (const text of ['0:', '3-1', '0,a', '-1']) expect(() => devicesFlag(text), text).to.throw(`--devices: received "${text}"; use`)
  })
})
