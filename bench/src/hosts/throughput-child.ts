/**
 * throughput-child MODEL BATCH LEARNERS SECONDS: SMA in every step with so many learners in all, alone or as one of several hosts. The first host prints the images a
 * second of a window, and the share of a core that its thread of the hosts takes.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { train, type ProgressEvent } from '../arbalest.js'
import { workloadOf } from '../cases.js'
import { randomDataset } from '../random-dataset.js'

const [model = '', batch = '', learners = '', seconds = ''] = process.argv.slice(2)
/** Seconds of training before the window. */
const WARM = 1.5
/** Ticks of the system's clock a second, in /proc. */
const TICKS = 100

/** Seconds of processor time of the thread that makes every call of MPI. */
function hostsThreadSeconds(): number {
  for (const task of readdirSync('/proc/self/task')) {
    const stat = readFileSync(`/proc/self/task/${task}/stat`, 'utf8')
    if (!stat.includes('(arbalest-hosts)')) continue
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS
  }
  return 0
}

const job = train({
  model,
  data: randomDataset(workloadOf(model)),
  batch: Number(batch),
  learners: Number(learners),
  precision: 'f32',
  backend: 'cpu',
  optimiser: { learningRate: 0.01, momentum: 0.9, weightDecay: 1e-4 },
  synchroniser: { name: 'sma', period: 1 },
  until: { steps: 20_000_000 },
  evaluateEvery: 1e9,
  seed: 1
})
let first: { progress: ProgressEvent; busy: number; at: number } | undefined
job.on('progress', (progress) => {
  if (first === undefined) {
    if (progress.seconds >= WARM) first = { progress, busy: hostsThreadSeconds(), at: performance.now() }
    return
  }
  const elapsed = progress.seconds - first.progress.seconds
  if (elapsed < Number(seconds)) return
  const work = (progress.iteration - first.progress.iteration) * Number(batch) * Number(learners)
  const busy = (hostsThreadSeconds() - first.busy) / ((performance.now() - first.at) / 1000)
  process.stdout.write(`${JSON.stringify({ rate: work / elapsed, busy })}\n`)
  first = { progress: { ...progress, seconds: Infinity }, busy, at: 0 }
  job.stop()
})
await job.finished
