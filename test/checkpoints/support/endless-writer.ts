import { writeSafetensors } from '../../../src/formats/safetensors.js'
import { checkpointsIn, CheckpointStore } from '../../../src/checkpoints/store.js'

/** Writes checkpoints into the folder that it is given until it is killed, and says a word after each. */
const folder = process.argv[2]!
const store = await CheckpointStore.open(folder, { keep: 2 })
for (let iteration = ((await checkpointsIn(folder))[0]?.iteration ?? 0) + 1; ; iteration++) {
  const tensors = Array.from({ length: 4 }, (_, i) => [`w${i}`, { shape: [5000], data: new Float32Array(5000).fill(iteration) }] as const)
  const write = (path: string) => writeSafetensors(path, tensors)
  await store.write({ iteration, files: { 'central.safetensors': write, 'learner.safetensors': write }, state: {} })
  process.stdout.write('.')
}
