import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkTaken, chosen, rateName } from '../hosts/cases.js'
import { reachable } from '../hosts/reachable.js'
import { recordedPace, recordPace, type Pace } from '../hosts/recorded-pace.js'
import type { StepsOf } from '../hosts/steps.js'
import { ttaFromSteps } from '../hosts/tta-from-steps.js'

describe('the cases of hosts', () => {
  it('are those that the words name', () => {
    const { kinds, hosts, mbit } = chosen(['exchange h4 200mbit', '1gbit'])
    expect([...kinds]).to.deep.equal(['exchange'])
    expect({ hosts, mbit }).to.deep.equal({ hosts: [4], mbit: [200, 1000] })
    expect(chosen(['tta', 'lenet', 'h4', '50mbit', 'sma'])).to.deep.include({ models: ['lenet'], rules: ['sma'], mbit: [50] })
    expect(chosen(['resnet20 b16 h2'])).to.deep.include({ models: ['resnet20'], batches: [16], hosts: [2] })
  })

  it('are of all kinds without words', () => {
    expect([...chosen([]).kinds]).to.deep.equal(['exchange', 'throughput', 'pace', 'steps', 'tta'])
  })

  it('have names that are words again', () => {
    for (const mbit of [50, 200, 1000, 1500]) expect(chosen([rateName(mbit)]).mbit).to.deep.equal([mbit])
  })

  it('are not those of words that mean nothing', () => {
    expect(() => chosen(['exchange', 'h9']))
      .to.throw(/h9/)
      .with.property('code', 'UNKNOWN_NAME')
    expect(() => chosen(['vgg16'])).to.throw(/vgg16/)
  })

  it('refuse an option that none of them takes', () => {
    for (const filters of [[], ['steps exchange']]) checkTaken(chosen(filters), { budget: 5, out: 'folder' })
    checkTaken(chosen(['pace']), { out: 'folder' })
    expect(() => checkTaken(chosen(['pace']), { budget: 5 }))
      .to.throw(/^--budget: received 5; .*only steps/)
      .with.property('code', 'INVALID_OPTION')
    expect(() => checkTaken(chosen(['exchange', 'tta']), { out: 'folder' })).to.throw(/^--out: received "folder"; .*only steps and pace/)
  })
})

describe('what computing and the links allow', () => {
  // 4 MB to 2 hosts over 8 Mbit/s are 4 s; averages are 8 steps apart.
  const exchange = { mbit: 8, hosts: 2, period: 8, bytes: 4e6 }
  const measured = { computing: 0.25, step: 1, peerStep: 6 }

  it('is their sum where the learners wait for the average', () => {
    const found = reachable({ ...exchange, rule: 'local-sgd' }, measured)
    expect(found).to.deep.equal({ computing: 0.25, link: 0.5, step: 0.75, gain: 8, share: 0.75 })
  })

  it('is the longer one where the average overlaps the next steps', () => {
    const found = reachable({ ...exchange, rule: 'sma' }, measured)
    expect(found).to.include({ step: 0.5, gain: 12, share: 0.5 })
  })
})

/** Links of 8 Mbit/s carry an average of ResNet-20 in 1.618 s, a step's share of eight is 0.202 s. */
const PACE: Pace = {
  model: 'resnet20',
  hosts: 4,
  mbit: 8,
  period: 8,
  seconds: {
    'local-sgd': [0.3, 0.4, 0.3],
    'ddp-gloo': [2, 2, 2.4],
    'ddp-gloo-fp16': [1, 1, 1],
    'periodic-averager': [0.4, 0.4, 0.4]
  },
  computing: { 'local-sgd': [0.1, 0.1, 0.2] },
  mpi: 'Open MPI 5',
  torch: '2.15.0',
  load: 1
}

describe('the recorded pace', () => {
  let folder: string
  beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'arbalest-pace-'))))
  afterEach(() => rm(folder, { recursive: true }))

  it('has all windows of a case, once every method has one', async () => {
    const wanted = { model: 'resnet20', hosts: 4, mbit: 8, period: 8 } as const
    const methods = { rules: ['local-sgd'], peers: Object.keys(PACE.seconds).slice(1) }
    await recordPace(folder, { ...PACE, computing: {} })
    expect(await recordedPace(folder, wanted, methods)).to.equal(undefined)
    await recordPace(folder, { ...PACE, seconds: {} })
    await recordPace(folder, { ...PACE, mbit: 20 })
    await recordPace(folder, { ...PACE, seconds: { 'local-sgd': [0.5] }, computing: {}, load: 3 })
    const { seconds, computing, load } = (await recordedPace(folder, wanted, methods))!
    expect(seconds).to.deep.equal({ ...PACE.seconds, 'local-sgd': [0.3, 0.4, 0.3, 0.5] })
    expect({ computing, load }).to.deep.equal({ computing: PACE.computing, load: 3 })
    expect(await recordedPace(folder, wanted, { ...methods, rules: ['sma'] })).to.equal(undefined)
  })
})

describe('seconds to an accuracy', () => {
  it('are steps times seconds a step, seed by seed and window by window', () => {
    const steps = (method: StepsOf['method'], ...of: number[]): StepsOf => ({ method, learningRate: 0.05, tuning: {}, steps: of })
    const found = [steps('local-sgd', 100, 300, 200), steps('ddp-gloo', 100, 200, 100), steps('ddp-gloo-fp16', 100, 200, 100)]
    const [ddp, fp16, averager] = ttaFromSteps([...found, steps('periodic-averager', 100, Infinity, 200)], PACE, ['local-sgd'])
    // Ours: 30, 120 and 60 s. DDP: 200, 400 and 240 s.
    expect(ddp).to.include({ case: 'tta resnet20 h4 8mbit local-sgd', value: 60, peerValue: 240, ratio: 4, n: 3, secondsPerStep: 0.3 })
    expect(ddp!.max).to.be.closeTo(6.667, 1e-3)
    const { step, gain, share } = ddp!['reachable'] as { step: number; gain: number; share: number }
    expect(step).to.be.closeTo(0.1 + 0.2023, 1e-4)
    expect(gain).to.be.closeTo(2 / 0.3023, 1e-2)
    expect(share).to.be.closeTo(0.3023 / 0.3, 1e-3)
    expect(ddp!['shareOfTime']).to.be.closeTo(4 / gain, 1e-9)
    expect(fp16!.ratio).to.be.closeTo(5 / 3, 1e-9)
    expect(averager!.max).to.equal(Infinity)
  })
})
