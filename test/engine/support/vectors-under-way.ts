import { compile } from '../../../src/compiler/compile.js'
import type { EngineBackend, Program } from '../../../src/compiler/program.js'
import type { HostTierSpec } from '../../../src/engine/contract.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { engine } from '../../../src/engine/native.js'
import { buildGraph } from '../../../src/model/graph-builder.js'
import { initialParameters } from '../../../src/model/initialise.js'
import { defineModel, linear, relu } from '../../../src/model/layers.js'
import { randomSamples } from './small-training.js'

const load = { padding: 0, flip: false, mean: [], std: [], shuffled: true }
const limits = { steps: 3, milliseconds: 60_000, learningRate: 0.05 }

/** Three layers, so that the weights of the second are fetched for backward before forward ends. */
class Training {
  readonly #backend: EngineBackend
  readonly #model
  readonly #dataset = randomSamples(64)

  constructor(backend: EngineBackend, width: number) {
    this.#backend = backend
    this.#model = defineModel({ name: 'three', input: [12], layers: [linear(width), relu(), linear(width), relu(), linear(5)] })
  }

  /** A replica all of whose vectors lie in the second tier, and the numbers of its programs. */
  replica(timing: NonNullable<HostTierSpec['timing']>, batches: readonly number[]) {
    const programs = batches.map((batch) => this.#program(batch))
    const layout = programs[0]!.parameters
    const backend = this.#backend
    const vectors = engine.createMovedVectors({ backend, layout, tier: { timing } })
    const replica = engine.createReplica({ backend, layout, threads: 1, seed: 1, moved: { vectors, all: true } })
    const initial = initialParameters(buildGraph(this.#model, { batch: batches[0]!, mode: 'train', load }), 7)
    engine.writeVector(replica, 'weights', initial)
    return { replica, bind: (i: number) => engine.bind(replica, engine.createProgram(programs[i]!), this.#dataset) }
  }

  #program(batch: number): Program {
    return compile(this.#model, loweringBackend(engine, this.#backend), {
      batch,
      mode: 'train',
      precision: 'f32',
      load,
      optimiser: { momentum: 0.9 },
      vectors: 'host'
    })
  }
}

/**
 * Steps of two programs of which the second needs more memory, bound after a `forward` or before any step: how many weights there are then, and how many
 * differ between the two.
 */
export function weightsAfterLargerBind(backend: EngineBackend): { count: number; different: number } {
  const training = new Training(backend, 256)
  const weights = (begins: boolean) => {
    const { replica, bind } = training.replica('latest', [4, 32])
    const small = bind(0)
    if (begins) for (const segment of ['load', 'forward'] as const) engine.runSegment(replica, small, segment)
    const large = bind(1)
    for (const slot of [small, large]) engine.run(replica, slot, limits)
    return engine.readVector(replica, 'weights')
  }
  const [bound, expected] = [weights(true), weights(false)]
  return { count: bound.length, different: bound.filter((weight, i) => weight !== expected[i]).length }
}

/** Replicas that are released when a fetch of many bytes has just begun; how many there were. */
export function releasedDuringFetch(backend: EngineBackend): number {
  const training = new Training(backend, 2048)
  let released = 0
  for (; released < 6; released++) {
    const { replica, bind } = training.replica('earliest', [4])
    const slot = bind(0)
    for (const segment of ['load', 'forward'] as const) engine.runSegment(replica, slot, segment)
    engine.release(replica)
  }
  return released
}
