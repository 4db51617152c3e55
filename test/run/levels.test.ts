import { expect } from 'chai'
import { eventMessage } from '../../src/cli/reporters/messages.js'
import type { Engine, LevelSpec } from '../../src/engine/contract.js'
import { ruleOf } from '../../src/rules/rules.js'
import { chosenLevels } from '../../src/run/start/level-order.js'
import { engine as native } from '../../src/engine/native.js'
import { groupSpec } from '../../src/run/start/group-spec.js'
import { smallTraining } from '../engine/support/small-training.js'
import type { EngineBackend } from '../../src/compiler/program.js'
import type { DevicesSettings } from '../../src/options/devices.js'
import type { OptimiserSettings } from '../../src/options/optimiser.js'
import { engine as fake } from '../fakes/engine.js'

const BYTES = 1e6
const TWO: DevicesSettings = { devices: [{ cores: [0] }, { cores: [1] }], levels: ['devices', 'hosts'], ordered: false }

/** Levels of these speeds, in bytes a second by the number of parts, and what was asked for. */
function engineOf(
  speeds: Record<Exclude<LevelSpec['kind'], 'hosts'>, readonly number[]>
): Pick<Engine, 'capabilities'> & { asked: string[]; timeLevel: Engine['timeLevel'] } {
  const asked: string[] = []
  return {
    asked,
    capabilities: fake.capabilities,
    timeLevel: (_backend, { kind }, parts, bytes) => {
      asked.push(`${kind} ${parts} ${bytes}`)
      return Float64Array.of((parts * bytes) / speeds[kind as keyof typeof speeds][parts - 1]!)
    }
  }
}

describe('The memory of levels', () => {
  const { program } = smallTraining('reference', { momentum: 0.9 })
  const rule = ruleOf('sma', {}, { learners: 2, iterations: 0, iterationAt: (epoch) => epoch })
  /** Vectors of the parameters' length that the group takes on each device, or in the memory that the devices share. */
  const vectors = (devices: DevicesSettings, backend: EngineBackend = 'reference') => {
    const optimiser = { update: {} } as OptimiserSettings
    const group = groupSpec(program, { backend, rule, devices, average: undefined, batch: 2, optimiser }, 100)
    const handle = native.createProgram(program)
    const count = native.countMemory({ backend, programs: [handle], group })
    native.release(handle)
    return count.group.map((bytes) => bytes / program.parameters.bytes)
  }

  it('is a double-buffered central model and a sum a device, and what each level has for the parts that come to it', () => {
    expect(vectors({ devices: [{ cores: [] }], levels: [], ordered: false })).to.deep.equal([2])
    expect(vectors({ ...TWO, levels: ['devices'] })).to.deep.equal([2 * (2 + 1) + 1])
    expect(vectors(TWO)).to.deep.equal([2 * (2 + 1) + 1 + 2])
    expect(vectors({ ...TWO, levels: ['hosts', 'devices'] })).to.deep.equal([2 * (2 + 1) + 2 * 2 + 1])
    expect(vectors({ devices: [{ cores: [] }], levels: ['hosts'], ordered: false })).to.deep.equal([2 + 1 + 2])
    // GPUs have each a sum of all.
    expect(vectors(TWO, 'cuda-host')).to.deep.equal([2 + 1 + 1 + 2, 2 + 1 + 1 + 2])
  })
})

describe('The order of levels', () => {
  it('is that of the least time, each level with the parts that come to it', () => {
    const engine = engineOf({ devices: [1, 1e9], loopback: [1e8, 1e8] })
    const event = chosenLevels(engine, TWO, 'cpu', BYTES)!
    expect(event.levels).to.deep.equal(['devices', 'hosts'])
    // One part for all goes to the hosts, or one of each device.
    expect(event.orders).to.deep.equal([
      { levels: ['devices', 'hosts'], seconds: 2e-3 + 10e-3 },
      { levels: ['hosts', 'devices'], seconds: 20e-3 + 2e-3 }
    ])
    expect(event.measured).to.deep.equal([
      { level: 'devices', parts: 2, bytesPerSecond: 1e9, seconds: 2e-3 },
      { level: 'hosts', parts: 1, bytesPerSecond: 1e8, seconds: 10e-3 },
      { level: 'hosts', parts: 2, bytesPerSecond: 1e8, seconds: 20e-3 }
    ])
    expect(engine.asked, 'each is measured once').to.have.length(3)
    expect(event.reason).to.equal('12 ms a round, where hosts, devices takes 22 ms')
    expect(event.devices).to.deep.equal([[0], [1]])
    expect(eventMessage(event)).to.include('2 devices').and.to.include('learners, devices, hosts: 12 ms a round')
  })

  it('has as many parts above GPUs as below them', () => {
    const event = chosenLevels(engineOf({ devices: [1, 1e9], loopback: [1e8, 1e8] }), TWO, 'cuda', BYTES)!
    expect(event.orders.map(({ seconds }) => seconds)).to.deep.equal([2e-3 + 20e-3, 20e-3 + 2e-3])
    expect(event.levels).to.deep.equal(['devices', 'hosts'])
  })

  it('is the other one where hosts take many parts at once faster than one alone', () => {
    const event = chosenLevels(engineOf({ devices: [1, 1e9], loopback: [1e6, 1e8] }), TWO, 'cpu', BYTES)!
    expect(event.levels).to.deep.equal(['hosts', 'devices'])
  })

  it('is the one that was given, whatever it takes', () => {
    const engine = engineOf({ devices: [1, 1e9], loopback: [1e8, 1e8] })
    const event = chosenLevels(engine, { ...TWO, levels: ['hosts', 'devices'], ordered: true }, 'cpu', BYTES)!
    expect(event.levels).to.deep.equal(['hosts', 'devices'])
    expect(event.reason).to.equal('as given; 22 ms a round')
    expect(event.orders).to.have.length(1)
  })

  it('needs no choice where there is one level, and no word where there is none', () => {
    const engine = engineOf({ devices: [1, 1e9], loopback: [1e8, 1e8] })
    expect(chosenLevels(engine, { ...TWO, levels: ['devices'] }, 'cpu', BYTES)!.reason).to.equal('there is no other; 2.0 ms a round')
    expect(chosenLevels(engine, { devices: [{ cores: [] }], levels: [], ordered: false }, 'cpu', BYTES)).to.equal(undefined)
  })

  it('is measured with a part of a vector that is very large', () => {
    const engine = engineOf({ devices: [1, 1e9], loopback: [1e8, 1e8] })
    const event = chosenLevels(engine, { ...TWO, levels: ['devices'] }, 'cpu', 2e9)!
    expect(engine.asked).to.deep.equal([`devices 2 ${2 ** 26}`])
    expect(event.orders[0]!.seconds).to.be.closeTo(4, 1e-9)
  })
})
