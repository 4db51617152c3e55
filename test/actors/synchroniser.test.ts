import { expect } from 'chai'
import { sma } from '../../src/rules/sma.js'
import { Synchroniser } from '../../src/actors/synchroniser.js'
import { compile } from '../../src/compiler/compile.js'
import { loweringBackend } from '../../src/engine/lowering.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { engine, held } from '../fakes/engine.js'
import { tinyModel } from '../fakes/job.js'
import { refused } from '../support/codes.js'

describe('the synchroniser', () => {
  it('releases a group that cannot be restored', async () => {
    held.clear()
    await using system = new ActorSystem()
    const { parameters: layout } = compile(tinyModel(), loweringBackend(engine, 'cpu'), { batch: 4, mode: 'train', precision: 'f32' })
    const initial = new Float32Array(layout.elements)
    const group = { backend: 'cpu', layout, initial, batch: 4, rule: sma({}, { learners: 1 }) } as const
    // The fake engine cannot restore a group.
    const spawned = () => system.spawnLocal(Synchroniser, { engine, group, resumes: { vectors: {}, counts: {} } })
    await refused('UNSUPPORTED_OPERATOR', spawned, 'restoreGroup')
    expect(held.size).to.equal(0)
  })

  it('refuses the figures of rounds that have no number', async () => {
    await using system = new ActorSystem()
    const { parameters: layout } = compile(tinyModel(), loweringBackend(engine, 'cpu'), { batch: 4, mode: 'train', precision: 'f32' })
    const initial = new Float32Array(layout.elements)
    const group = { backend: 'cpu', layout, initial, batch: 4, rule: sma({}, { learners: 1 }) } as const
    const synchroniser = await system.spawnLocal(Synchroniser, { engine, group })
    await refused('INVALID_OPTION', () => synchroniser.ask.roundsAfter(Number.NaN), 'round: received NaN', '-1 for all')
    await refused('INVALID_OPTION', () => synchroniser.ask.sampledRounds(0.5), 'round: received 0.5')
  })
})
