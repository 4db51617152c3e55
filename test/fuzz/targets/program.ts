import type { Handle } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'
import type { Choice } from '../support/choice.js'
import { harmed } from '../support/junk.js'
import { bases } from './bases.js'

/** A harmed program is created, bound and run for two steps. */
export function programTarget(): (choice: Choice) => void {
  const whole = bases().map(({ program, data }) => ({ program, data: engine.createDataset(data) }))
  return (choice) => {
    const { program, data } = choice.among(whole)
    const held: Handle[] = []
    const hold = (handle: Handle): Handle => {
      held.push(handle)
      return handle
    }
    try {
      const suspect = harmed(program, choice)
      const handle = hold(engine.createProgram(suspect))
      // As the compiler's own, so that all of the harm is the program's; or as harmed as it.
      const layout = choice.happens(0.5) ? program.parameters : suspect.parameters
      const replica = hold(engine.createReplica({ backend: program.backend, layout, threads: 1, seed: 1 }))
      const slot = engine.bind(replica, handle, data)
      engine.run(replica, slot, { steps: 2, milliseconds: 100, position: choice.below(100), learningRate: 0.1 })
      for (const name of Object.keys(suspect.named)) engine.readValue(replica, slot, name)
      engine.readVector(replica, 'gradients')
    } finally {
      held.forEach((handle) => engine.release(handle))
    }
  }
}
