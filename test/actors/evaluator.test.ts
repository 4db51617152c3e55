import { expect } from 'chai'
import { Evaluator } from '../../src/actors/evaluator.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { calls } from '../fakes/recording-engine.js'

describe('the evaluator', () => {
  it('takes the central model, estimates its statistics from nothing, then runs over its samples once', async () => {
    const system = new ActorSystem()
    calls.length = 0
    const evaluator = await system.spawnLocal(Evaluator, {
      engine: new URL('../fakes/recording-engine.js', import.meta.url).href,
      group: 7,
      replica: 8,
      test: 200,
      statistics: {
        program: 1,
        samples: 100,
        batch: 64,
        steps: 4,
        position: 0,
        values: [
          { name: 'bn.count', elements: 1 },
          { name: 'bn.runningMean', elements: 2 }
        ]
      },
      evaluate: [
        { program: 2, batch: 64, steps: 4, position: 0 },
        { program: 3, batch: 10, steps: 1, position: 256 }
      ]
    })
    const findings = await evaluator.ask.measure()
    await system.stop()
    expect(calls).to.deep.equal([
      'bind 1 to 8 over 100',
      'bind 2 to 8 over 200',
      'bind 3 to 8 over 200',
      '8 adopts 7',
      'write bn.count = [0] in 10',
      'write bn.runningMean = [0 0] in 10',
      'run 10: 3 from 0',
      'run 10: 1 from 192',
      'run 20: 3 from 0',
      'run 20: 1 from 192',
      'run 30: 1 from 256',
      'release 8'
    ])
    expect(findings).to.deep.equal({ samples: 266, loss: 2 * 266, correct: 25, amongTop: 0, labels: 0 })
  })
})
