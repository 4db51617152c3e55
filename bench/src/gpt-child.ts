import { datasetFromText, train, type StartedEvent } from './arbalest.js'
import { answerWindows, type Window } from './answer-windows.js'
import { ProgressWindows } from './progress-windows.js'

const CONTEXT = 128
const BATCH = 4

const [deviceMemory = 'auto', spill = ''] = process.argv.slice(2)
const words = Array.from({ length: 20_000 }, (_, i) => String.fromCharCode(97 + ((i * i * 7 + i * 13) % 26)))
const job = train({
  model: 'gpt',
  size: { layers: 8, heads: 8, width: 512 },
  data: await datasetFromText({ text: words.join(''), context: CONTEXT }),
  batch: BATCH,
  learners: 1,
  deviceMemory,
  ...(spill !== '' && { spill }),
  optimiser: { name: 'adamw', learningRate: 3e-4, milestones: [] },
  synchroniser: 'ssgd',
  // Longer than any window; the parent process ends this one.
  until: { steps: 20_000_000 },
  evaluateEvery: 1e9,
  seed: 1
})
let started: StartedEvent | undefined
job.on('started', (event) => (started = event))
const windows = new ProgressWindows(job)

async function run(seconds: number): Promise<Window> {
  const { iterations, seconds: taken } = await windows.window(seconds)
  return { work: iterations * BATCH * CONTEXT, seconds: taken }
}

await windows.warm()
const { bytesShared, bytesPerLearner, parameters, recomputedBytes = 0, movedBytes = 0, predictedSlowdown = 1 } = started!
await answerWindows({ bytes: bytesShared + bytesPerLearner, parameters, recomputedBytes, movedBytes, predictedSlowdown }, run)
