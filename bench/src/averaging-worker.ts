import { parentPort, workerData } from 'node:worker_threads'
import { engine } from './internals.js'
import type { AveragingLearner, Stint, StintReport } from './averaging.js'

/** One learner with two replicas of the same program: one in its group, one alone. */
const { group, program, dataset, layout, batch, learner } = workerData as AveragingLearner
const own = { backend: 'cpu', layout, threads: 1, seed: 1 } as const
const [together, alone] = [engine.createReplica({ ...own, group, learner }), engine.createReplica(own)]
engine.writeVector(alone, 'weights', engine.readCentral(group))
const slots = new Map([together, alone].map((replica) => [replica, engine.bind(replica, program, dataset)]))
engine.join(group, learner)
let position = 0

parentPort!.on('message', ({ grouped, milliseconds }: Stint) => {
  const replica = grouped ? together : alone
  const report: StintReport = { steps: 0, busySeconds: 0, waitSeconds: 0 }
  for (const until = performance.now() + milliseconds; performance.now() < until;) {
    const { steps, busySeconds, waitSeconds } = engine.run(replica, slots.get(replica)!, {
      steps: 1_000_000,
      milliseconds: 50,
      ...(!grouped && { learningRate: 0.01, position })
    })
    position += batch * steps
    report.steps += steps
    report.busySeconds += busySeconds
    report.waitSeconds += waitSeconds
  }
  parentPort!.postMessage(report)
})
parentPort!.postMessage('ready')
