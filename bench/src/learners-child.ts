import { readFileSync, writeFileSync } from 'node:fs'
import { train, type StartedEvent } from './arbalest.js'
import { answerWindows, type Window } from './answer-windows.js'
import { unitsOf, workloadOf, workOfStep, type CasePrecision } from './cases.js'
import { flopsPerImage } from './flops-per-image.js'
import { describeCuda } from './internals.js'
import { ProgressWindows } from './progress-windows.js'
import { randomDataset } from './random-dataset.js'

const [model = '', batch = '', learners = '', precision = '', backend = 'cpu', lockstep = 'false', ...limits] = process.argv.slice(2)
const [deviceMemory = 'auto', spill = '', clock = 'wall'] = limits
const { perSample } = unitsOf(model)
const workOfIteration = workOfStep({ model, batch: Number(batch), learners: Number(learners) })
const data = randomDataset(workloadOf(model))
const residentBefore = resident('VmRSS')
// From here on the most is counted anew.
writeFileSync('/proc/self/clear_refs', '5')
const job = train({
  model,
  data,
  batch: Number(batch),
  learners: Number(learners),
  precision: precision as CasePrecision,
  backend: backend as 'cpu' | 'cuda',
  deviceMemory,
  ...(spill !== '' && { spill }),
  optimiser: { learningRate: 0.01, momentum: 0.9, weightDecay: 1e-4 },
  synchroniser: { name: 'sma', period: 1, lockstep: lockstep === 'true' },
  // Longer than any window; the parent process ends this one.
  until: { steps: 20_000_000 },
  // Never: the peers do not evaluate either.
  evaluateEvery: 1e9,
  seed: 1
})
let started: StartedEvent | undefined
job.on('started', (event) => (started = event))
const windows = new ProgressWindows(job)

async function run(seconds: number): Promise<Window> {
  const { iterations, seconds: taken } = await windows.window(seconds, clock as 'wall' | 'cpu')
  return { work: iterations * workOfIteration, seconds: taken }
}

await windows.warm()
if (backend === 'cuda') checkBanks()
const { bytesShared, bytesPerLearner, recomputedBytes = 0, movedBytes = 0, predictedSlowdown = 1 } = started!
const bytes = bytesShared + Number(learners) * bytesPerLearner
const { samples, labels } = data.train
const residentBytes = resident('VmHWM') - residentBefore - samples.byteLength - (labels?.byteLength ?? 0)
const told = { bytes, bytesPerLearner, recomputedBytes, movedBytes, predictedSlowdown, residentBytes }
await answerWindows({ flopsPerUnit: flopsPerImage(model, Number(batch), precision as CasePrecision) / perSample, ...told }, run)

/** Throws where learners were to run in banks, and have run by themselves. */
function checkBanks(): void {
  const report = describeCuda()
  if (typeof report === 'string' || Number(process.env['ARBALEST_CUDA_BANK'] ?? 0) < 2) return
  const { steps, refusal } = report.banks
  if (steps === 0) throw new Error(`no step was that of a bank${refusal === '' ? '' : `: ${refusal}`}`)
}

/** Resident memory now, or the most that there was, in bytes. */
function resident(which: 'VmRSS' | 'VmHWM'): number {
  const [, kilobytes = ''] = new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return 1024 * Number(kilobytes)
}
