import { expect } from 'chai'
import { Learner, type LearnerOptions } from '../../src/actors/learner.js'
import type { SpawnLearner } from '../../src/actors/learner-slot.js'
import { sma } from '../../src/rules/sma.js'
import { Synchroniser } from '../../src/actors/synchroniser.js'
import { Supervisor } from '../../src/actors/supervisor.js'
import { compile } from '../../src/compiler/compile.js'
import type { Program } from '../../src/compiler/program.js'
import type { Handle } from '../../src/engine/contract.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { Heartbeat } from '../../src/learner/heartbeat.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { engine, held } from '../fakes/engine.js'
import { FAKES, tinyData, tinyModel } from '../fakes/job.js'
import { refused } from '../support/codes.js'

function learnerOptions(step: Program, program: Handle, group: Handle, learner: number): LearnerOptions {
  const { parameters, batch } = step
  return {
    engine: FAKES.engine.href,
    module: FAKES.learner.href,
    options: undefined,
    replica: { backend: 'cpu', layout: parameters, threads: 1, seed: 1, group, learner },
    program,
    dataset: 0,
    task: { model: tinyModel(), step, recipe: { batch, precision: 'f32', parameters }, learners: 2, samples: 60, iterations: 1000 },
    rank: learner,
    heartbeat: new Heartbeat().memory
  }
}

describe('learners and their group', () => {
  let system: ActorSystem
  beforeEach(() => {
    system = new ActorSystem()
    held.clear()
  })
  afterEach(() => system.stop())

  async function twoLearners({ period = 1 } = {}) {
    const train = compile(tinyModel(), loweringBackend(engine, 'cpu'), { batch: 4, mode: 'train', precision: 'f32' })
    const layout = train.parameters
    const initial = new Float32Array(layout.elements).fill(3)
    const spec = { backend: 'cpu', layout, initial, batch: 4, rule: sma({ period }, { learners: 1 }) } as const
    const synchroniser = await system.spawnLocal(Synchroniser, { engine, group: spec })
    const group = await synchroniser.ask.group()
    const program = engine.createProgram(train)
    const dataset = engine.createDataset(tinyData().train)
    // Both run in this thread: they can meet in a round only if each gives the other a turn.
    const spawn: SpawnLearner = (spawner, learner, rank, heartbeat) =>
      spawner.spawnLocal(Learner, { ...learnerOptions(train, program, group, learner), dataset, rank, heartbeat: heartbeat.memory })
    const supervision = { restarts: 0, window: 1000, deadline: 60_000 }
    const supervisor = await system.spawnLocal(Supervisor, { engine, group, learners: 2, supervision, spawn })
    await supervisor.ask.start()
    await synchroniser.ask.follow({ learningRates: [{ from: 0, rates: Float32Array.of(0.1) }], restarts: [], iterations: 1000 })
    return { synchroniser, supervisor, program, dataset }
  }

  it('run to the pause, report, and continue from there', async () => {
    const { synchroniser, supervisor } = await twoLearners()
    await synchroniser.ask.pauseAt(5)
    const reports = await supervisor.ask.train()
    expect(reports.map(({ outcome, steps }) => [outcome, steps])).to.deep.equal([
      ['paused', 5],
      ['paused', 5]
    ])
    expect(await synchroniser.ask.status()).to.deep.include({ round: 5, iterations: 5, position: 40, members: [0, 1], notFiniteAt: -1 })
    await synchroniser.ask.pauseAt(7)
    expect((await supervisor.ask.train()).map(({ steps }) => steps)).to.deep.equal([2, 2])
    expect(await synchroniser.ask.losses(3)).to.have.length(4)
  })

  it('give the event loop turns while they train', async () => {
    const { synchroniser, supervisor } = await twoLearners()
    await synchroniser.ask.follow({ learningRates: [{ from: 0, rates: Float32Array.of(0.1) }], restarts: [], iterations: 1e9 })
    const trained = supervisor.askWith({ deadline: Infinity }).train()
    await new Promise((resolve) => setTimeout(resolve, 20))
    const before = (await synchroniser.ask.status()).iterations
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect((await synchroniser.ask.status()).iterations).to.be.greaterThan(before)
    await synchroniser.ask.pauseAt(0)
    const reports = await trained
    expect(reports[0]!.steps).to.equal(reports[1]!.steps)
  })

  it('add the corrections of both to the central model, once a round', async () => {
    const { synchroniser, supervisor } = await twoLearners({ period: 3 })
    await synchroniser.ask.pauseAt(1)
    await supervisor.ask.train()
    // From w = z = 3 two steps of rate 0.1 on (w - 1): w = 1 + 2 * 0.81; then each learner's correction is (w - z) / 2.
    const expected = 3 + 2 * ((1 + 2 * 0.81 - 3) / 2)
    for (const weight of await synchroniser.ask.centralVector()) expect(weight).to.be.closeTo(expected, 1e-6)
  })

  it('release what they hold when they stop', async () => {
    const { program, dataset } = await twoLearners()
    await system.stop()
    expect([...held]).to.have.members([program, dataset])
  })

  it('are refused a second training while one runs', async () => {
    const train = compile(tinyModel(), loweringBackend(engine, 'cpu'), { batch: 4, mode: 'train', precision: 'f32' })
    const layout = train.parameters
    const initial = new Float32Array(layout.elements)
    const group = engine.createGroup({ backend: 'cpu', layout, initial, batch: 4, rule: sma({}, { learners: 1 }) })
    engine.setLearningRates(group, 0, Float32Array.of(0.1))
    engine.join(group, 0)
    engine.join(group, 1)
    const learner = await system.spawnLocal(Learner, learnerOptions(train, engine.createProgram(train), group, 0), { name: 'learner 0' })
    const waitsForTheOther = learner.askWith({ deadline: Infinity }).train()
    await refused('INVALID_STATE', () => learner.ask.train(), 'learner 0')
    engine.stop(group)
    expect((await waitsForTheOther).outcome).to.equal('cancelled')
  })
})
