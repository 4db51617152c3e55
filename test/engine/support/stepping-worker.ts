import { workerData } from 'node:worker_threads'
import type { ParameterLayout } from '../../../src/compiler/program.js'
import type { Handle } from '../../../src/engine/contract.js'
import { engine } from '../../../src/engine/native.js'

/** A learner that counts its iterations where others see them. */
export interface SteppingWorker {
  readonly group: Handle
  readonly program: Handle
  readonly dataset: Handle
  readonly layout: ParameterLayout
  readonly learner: number
  /** Of learner 0 and of learner 1, and by how many the first has been ahead at most. */
  readonly counts: Int32Array
  /** Milliseconds after each iteration. */
  readonly pause: number
}

const { group, program, dataset, layout, learner, counts, pause } = workerData as SteppingWorker
const replica = engine.createReplica({ backend: 'cpu', layout, threads: 1, seed: 1, group, learner })
const slot = engine.bind(replica, program, dataset)
const never = new Int32Array(new SharedArrayBuffer(4))
for (;;) {
  const { outcome, steps } = engine.run(replica, slot, { steps: 1, milliseconds: 50 })
  const own = Atomics.add(counts, learner, steps) + steps
  if (learner === 0) Atomics.store(counts, 2, Math.max(Atomics.load(counts, 2), own - Atomics.load(counts, 1)))
  if (outcome === 'paused') break
  if (pause > 0) Atomics.wait(never, 0, 0, pause)
}
engine.release(replica)
