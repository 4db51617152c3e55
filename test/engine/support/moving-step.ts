import { compile } from '../../../src/compiler/compile.js'
import type { Program } from '../../../src/compiler/program.js'
import type { Handle, ReplicaSpec } from '../../../src/engine/contract.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { engine } from '../../../src/engine/native.js'
import { buildGraph } from '../../../src/model/graph-builder.js'
import { initialParameters } from '../../../src/model/initialise.js'
import { defineModel, flatten, linear } from '../../../src/model/layers.js'
import { forgetfulLayers } from '../../support/forgetful-layers.js'
import { ofImages } from './device-training.js'

const backend = 'cpu'
const model = defineModel({ name: 'bound', input: [3, 16, 16], layers: [...forgetfulLayers(), flatten(), linear(10)] })
const { load, batch, data, steps, rate } = { ...ofImages(model), batch: 8 }

/** A training step that moves all that it need not hold to the second tier. */
export class MovingStep {
  readonly program: Program = compile(model, loweringBackend(engine, backend), {
    batch,
    mode: 'train',
    precision: 'f32',
    load,
    optimiser: { momentum: 0.9 },
    limit: {
      activations: 0,
      speed: { flopsPerSecond: 1e11, bytesPerSecond: 1e10, cacheBytesPerSecond: 1e10, cacheBytes: 0 },
      transfers: { storeBytesPerSecond: 1e9, fetchBytesPerSecond: 1e9, bothWays: false },
      only: 'move'
    }
  })
  readonly dataset: Handle = engine.createDataset(data)

  /** A replica that the program is bound to, and the loss of a numbered call of a few steps. */
  replica(place: Pick<ReplicaSpec, 'arenas' | 'tier'>): { replica: Handle; loss: (call: number) => number } {
    const replica = engine.createReplica({ backend, layout: this.program.parameters, threads: 1, seed: 3, ...place })
    const slot = engine.bind(replica, engine.createProgram(this.program), this.dataset)
    engine.writeVector(replica, 'weights', initialParameters(buildGraph(model, { batch, mode: 'train', load }), 5))
    const loss = (call: number): number =>
      engine.run(replica, slot, { steps, milliseconds: 60_000, position: steps * call * batch, learningRate: rate }).lossSum
    return { replica, loss }
  }
}
