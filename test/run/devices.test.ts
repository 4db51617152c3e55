import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { usableProcessors } from '../../src/engine/machine.js'
import { openDataset, train, type Dataset, type JobEvent, type TrainOptions } from '../../src/index.js'
import { settingsOf } from '../../src/options/settings.js'
import { refused } from '../support/codes.js'
import { skip } from '../support/skip.js'
import { someRoundsLater } from './support/talked-to.js'

/** Runs `does` after each step, with what it wants of the job. */
function learnerThat(does: string): URL {
  const text = `import { appendFileSync, readFileSync } from 'node:fs'
    export default ({ replica, rank, learner, options: file }) => {
      let steps = 0
      return async () => { await replica.run(1); steps++; ${does} }
    }`
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`)
}

describe('A job on several devices', function () {
  this.timeout(120_000)
  const cores = usableProcessors()
  let data: Dataset
  let folder: string
  before(async function () {
    if (cores.length < 2) skip(this, 'a device needs a core, and this process may use only one')
    data = await openDataset('digits', { samples: 400 })
    folder = mkdtempSync(join(tmpdir(), 'devices-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  const run = async (more: Partial<TrainOptions>) => {
    const events: JobEvent[] = []
    const job = train({ model: 'lenet', data, batch: 4, learners: 3, until: { steps: 60 }, ...more })
    for await (const event of job) events.push(event)
    return { finished: await job.finished, events }
  }
  const THREE_LEVELS = { devices: 2, hosts: 'loopback', levels: ['devices', 'hosts'] } as const

  for (const synchroniser of ['sma', 'ssgd', 'local-sgd'] as const)
    it(`learns what one device learns, and the same bits every time: ${synchroniser}`, async () => {
      const { finished: alone } = await run({ synchroniser })
      const [first, again] = [await run({ synchroniser, ...THREE_LEVELS }), await run({ synchroniser, ...THREE_LEVELS })]
      expect(first.finished.weightsSha256).to.equal(again.finished.weightsSha256)
      expect(first.finished.weightsSha256).to.not.equal(alone.weightsSha256)
      expect(first.finished.testLoss).to.be.closeTo(alone.testLoss, 0.02)
      expect(alone.testLoss).to.be.below(2.2)
    })

  it('says by which levels it averages, and why', async () => {
    const { events } = await run({ devices: 2, hosts: 'loopback', until: { steps: 3 } })
    const event = events.find((each) => each.event === 'levels')!
    expect(event.devices.flat()).to.deep.equal(cores)
    expect([...event.levels].sort()).to.deep.equal(['devices', 'hosts'])
    expect(event.orders).to.have.length(2)
    expect(Math.min(...event.orders.map(({ seconds }) => seconds))).to.equal(
      event.orders.find(({ levels }) => levels[0] === event.levels[0])!.seconds
    )
    for (const { bytesPerSecond } of event.measured) expect(bytesPerSecond).within(1e6, 1e13)
    expect(event.reason).to.match(/ms a round, where .* takes .* ms$/)
    const { events: without } = await run({ until: { steps: 3 } })
    expect(without.some(({ event: name }) => name === 'levels')).to.equal(false)
  })

  it('spreads its learners evenly and keeps each to the cores of its device', async function () {
    if (process.platform !== 'linux') skip(this, 'threads are kept to cores on Linux only')
    const file = join(folder, 'cores')
    const learner = learnerThat(
      `if (steps === 1) appendFileSync(file, rank + ' ' + /^Cpus_allowed_list:\\s*(.*)$/m.exec(readFileSync('/proc/thread-self/status', 'utf8'))[1] + '\\n')`
    )
    const [one, other] = cores as [number, number]
    await run({ learner, learnerOptions: file, learners: 3, until: { steps: 5 }, devices: [{ cores: [other] }, { cores: [one] }] })
    const lines = readFileSync(file, 'utf8').trim().split('\n').sort()
    expect(lines).to.deep.equal([`0 ${other}`, `1 ${one}`, `2 ${other}`])
  })

  it('goes on where a learner dies, with another on the same device', async () => {
    const learner = learnerThat(`if (steps === 9 && learner === 1) throw new Error('out of luck')`)
    const { finished, events } = await run({ learner, ...THREE_LEVELS, until: { steps: 80 } })
    expect(events.find(({ event }) => event === 'learnerLost')).to.include({ rank: 1 })
    expect(finished).to.include({ reason: 'completed', iterations: 80, learners: 3 })
  })

  it('is tuned by a learner a device at a time, and repeated from the schedule to the bit', async () => {
    const small = { model: 'mlp', data, batch: 4, devices: 2, evaluateEvery: 1e6, optimiser: { milestones: [] } } as const
    const tuned = train({ ...small, learners: { initial: 2, max: 4, window: 0.002 }, until: { steps: 1e6 } })
    tuned.on('population', ({ to }) => void (to > 2 && someRoundsLater(tuned, 20).then(() => tuned.stop())))
    const { population, iterations, weightsSha256 } = await tuned.finished
    expect(population.every(({ learners }) => learners % 2 === 0 && learners <= 4)).to.equal(true)
    expect(population.some(({ learners }) => learners === 4)).to.equal(true)
    const repeated = await run({ ...small, learners: { schedule: population }, until: { steps: iterations } })
    expect(repeated.finished.weightsSha256).to.equal(weightsSha256)
  })

  it('shows in its trace what every level does', async () => {
    const file = join(folder, 'trace.json')
    await run({ ...THREE_LEVELS, trace: file })
    const events = JSON.parse(readFileSync(file, 'utf8')) as { name: string; tid: number; ph: string; args?: { name: string } }[]
    for (const level of ['level devices', 'level hosts']) {
      const row = events.find(({ name, args }) => name === 'thread_name' && args?.name === level)?.tid
      const rounds = new Set(events.filter(({ ph, tid }) => ph === 'X' && tid === row).map(({ name }) => name))
      expect([...rounds], level).to.include.members(['round 1', 'round 59'])
    }
  })

  it('has as many learners a device as it has cores, where nobody says', () => {
    const settings = settingsOf({ model: 'lenet', data, devices: 2 })
    expect(settings.learners % 2).to.equal(0)
    expect(settings.population.tuning).to.include({ by: 2 })
    expect(settings.devices.devices.flatMap((device) => device.cores)).to.deep.equal(cores)
    expect(settingsOf({ model: 'lenet', data, devices: 1 }).devices).to.deep.equal({
      devices: [{ cores: [] }],
      levels: [],
      ordered: false,
      hosts: 'auto',
      exchange: 'sharded',
      order: 'ranks'
    })
  })

  const [a = 0, b = 1] = cores
  const bad: Record<string, readonly [Partial<Record<keyof TrainOptions, unknown>>, ...string[]]> = {
    'no device': [{ devices: 0 }, 'devices', 'received 0'],
    'more devices than cores': [{ devices: cores.length + 1 }, 'devices', `received ${cores.length + 1}`, `to ${cores.length}`],
    'an empty list': [{ devices: [] }, 'devices', 'received []', 'list'],
    'a device without cores': [{ devices: [{ cores: [a] }, { cores: [] }] }, 'devices[1].cores', 'received []'],
    'cores of nobody': [{ devices: [{ cores: [99999] }, { cores: [a] }] }, 'devices[0].cores[0]', '99999', 'of this process'],
    'a core of two devices': [{ devices: [{ cores: [a] }, { cores: [b, a] }] }, 'devices[1].cores[1]', 'devices[0].cores[0]'],
    'a slip of the pen': [{ devices: [{ core: [a] }, { cores: [b] }] }, 'devices[0].core', 'use only cores'],
    'unknown hosts': [{ hosts: 'mpi' }, 'hosts', 'mpi', 'loopback'],
    'levels that are not there': [{ levels: ['devices'] }, 'levels', 'leave it out'],
    'a level left out': [{ devices: 2, hosts: 'loopback', levels: ['hosts'] }, 'levels', 'devices, hosts once'],
    'a level twice': [{ devices: 2, levels: ['devices', 'devices'] }, 'levels', 'devices once'],
    'no GPU': [{ devices: 0, backend: 'cuda' }, 'devices', 'received 0']
  }
  for (const [what, [options, ...words]] of Object.entries(bad))
    it(`refuses ${what}`, async () => {
      const error = await refusedFirst({ model: 'lenet', ...options } as TrainOptions)
      for (const word of words) expect(error).to.include(word)
    })

  async function refusedFirst(options: TrainOptions): Promise<string> {
    let message = ''
    try {
      settingsOf({ data, ...options })
    } catch (error) {
      message = (error as Error).message
    }
    expect(message, 'nothing was refused').to.not.equal('')
    return message
  }

  it('refuses learners in lockstep, who are all on one device', async () => {
    const synchroniser = { name: 'sma', lockstep: true } as const
    await refused('INVALID_OPTION', () => run({ devices: 2, synchroniser }), 'devices', 'received 2', 'lockstep')
    await refused('INVALID_OPTION', () => run({ hosts: 'loopback', synchroniser }), 'hosts', 'lockstep')
  })

  it('refuses an asynchronous rule, whose learners meet nobody', async () => {
    await refused('INVALID_OPTION', () => run({ devices: 2, synchroniser: 'hogwild' }), 'devices', 'received 2', 'asynchronous')
    await refused('INVALID_OPTION', () => run({ hosts: 'loopback', synchroniser: 'downpour' }), 'hosts', 'asynchronous')
  })
})
