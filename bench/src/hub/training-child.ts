/**
 * training-child MODEL BATCH SECONDS HOSTS, on each host: S-SGD with one learner on each of the first HOSTS hosts; the one behind them, if there is one, is their hub. The
 * first host tells its steps a second, without those of the first second, which makes the connections.
 */
import { hub, train, type ProgressEvent } from '../arbalest.js'
import { workloadOf } from '../cases.js'
import { isFirstProcess, launchedProcess } from '../internals.js'
import { randomDataset } from '../random-dataset.js'

const [model = '', batch = '', seconds = '', hosts = ''] = process.argv.slice(2)
const WARM = 1

if (launchedProcess()!.rank === Number(hosts)) {
  await hub()
} else {
  const job = train({
    model,
    data: randomDataset(workloadOf(model)),
    batch: Number(batch),
    learners: Number(hosts),
    precision: 'f32',
    backend: 'cpu',
    optimiser: { learningRate: 0.01, momentum: 0.9 },
    synchroniser: 'ssgd',
    until: { seconds: WARM + Number(seconds) },
    evaluateEvery: 1e9,
    seed: 1
  })
  let first: ProgressEvent | undefined
  job.on('progress', (progress) => {
    if (progress.seconds >= WARM) first ??= progress
  })
  const { iterations, seconds: taken } = await job.finished
  if (isFirstProcess()) process.stdout.write(`${JSON.stringify({ rate: (iterations - first!.iteration) / (taken - first!.seconds) })}\n`)
}
