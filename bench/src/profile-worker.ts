import { parentPort, workerData } from 'node:worker_threads'
import { engine } from './internals.js'
import type { ProfiledLearner, ProfileReport } from './profile.js'

const { group, program, dataset, layout, learner } = workerData as ProfiledLearner
const replica = engine.createReplica({ backend: 'cpu', layout, threads: 1, seed: 1, group, learner })
const slot = engine.bind(replica, program, dataset)
engine.join(group, learner)

const WARM_UP = 1000
const began = performance.now()
let steps = 0
let busySeconds = 0
let waitSeconds = 0
let measuring = false
for (;;) {
  const report = engine.run(replica, slot, { steps: 1_000_000, milliseconds: 50 })
  if (report.outcome === 'cancelled' || report.outcome === 'evicted') break
  if (measuring) {
    steps += report.steps
    busySeconds += report.busySeconds
    waitSeconds += report.waitSeconds
  } else if (performance.now() - began > WARM_UP) {
    engine.profile(replica, slot)
    measuring = true
    parentPort?.postMessage('measuring')
  }
}
const found: ProfileReport = { operators: engine.profile(replica, slot), steps, busySeconds, waitSeconds }
engine.release(replica)
parentPort?.postMessage(found)
