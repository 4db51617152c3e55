import { compile } from '../../../src/compiler/compile.js'
import type { Handle } from '../../../src/engine/contract.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { engine } from '../../../src/engine/native.js'
import { conv2d, defineModel, flatten, linear, localResponseNorm } from '../../../src/model/layers.js'
import { numbers } from '../../compiler/support/training-step.js'

const INPUT = [3, 32, 32]
const BATCH = 8

/** A model with an operator that has memory for each of its threads. */
const model = defineModel({
  name: 'many threads',
  input: INPUT,
  layers: [conv2d(64, 3, { padding: 1 }), localResponseNorm(5), flatten(), linear(10)]
})

/** The loss of a replica with one thread, and that of one with two which is then written a value, for which it leaves its arena. */
export function lossesAfterWrittenValue(): number[] {
  const program = compile(model, loweringBackend(engine, 'cpu'), { batch: BATCH, mode: 'train', precision: 'f32', optimiser: {} })
  const samples = Uint8Array.from(numbers(BATCH * 3 * 32 * 32, 1), (value) => 128 + 127 * value)
  const labels = Int32Array.from({ length: BATCH }, (_, i) => i)
  const dataset = engine.createDataset({ count: BATCH, sample: INPUT, samples, labels, classes: 10 })
  const arenas = engine.createArenas({ backend: 'cpu', sizes: [program.arenas.activations] })
  const replicaOf = (threads: number, shared: { arenas?: Handle }): { replica: Handle; slot: number } => {
    const replica = engine.createReplica({ backend: 'cpu', layout: program.parameters, threads, seed: 1, ...shared })
    const slot = engine.bind(replica, engine.createProgram(program), dataset)
    engine.writeVector(replica, 'weights', Float32Array.from(numbers(program.parameters.elements, 2)))
    return { replica, slot }
  }
  const loss = ({ replica, slot }: { replica: Handle; slot: number }): number => {
    for (const segment of ['load', 'forward', 'backward'] as const) engine.runSegment(replica, slot, segment)
    return engine.readValue(replica, slot, 'loss')[0]!
  }
  const two = replicaOf(2, { arenas })
  const one = replicaOf(1, {})
  const expected = loss(one)
  engine.writeValue(two.replica, two.slot, 'loss', Float32Array.of(0))
  return [expected, loss(two)]
}
