import { setTimeout as sleep } from 'node:timers/promises'
import { datasetFromText, train, type JobEvent, type ProgressEvent, type StartedEvent } from './arbalest.js'
import { answerWindows, type Window } from './answer-windows.js'

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
const events = job[Symbol.asyncIterator]()

async function nextProgress(): Promise<ProgressEvent> {
  for (;;) {
    const { value, done } = (await events.next()) as { value: JobEvent; done?: boolean }
    if (done === true || value.event === 'finished') throw new Error('the job ended before the bench did')
    if (value.event === 'progress') return value
  }
}

/** Tokens of a window that begins with a step and ends with one. */
async function run(seconds: number): Promise<Window> {
  const settled = performance.now() + 250
  let first = await nextProgress()
  while (performance.now() < settled) first = await nextProgress()
  for (;;) {
    const last = await nextProgress()
    const elapsed = last.seconds - first.seconds
    if (elapsed >= seconds) return { work: (last.iteration - first.iteration) * BATCH * CONTEXT, seconds: elapsed }
  }
}

await nextProgress()
await sleep(500)
const { bytesShared, bytesPerLearner, parameters, recomputedBytes = 0, movedBytes = 0, predictedSlowdown = 1 } = started!
await answerWindows({ bytes: bytesShared + bytesPerLearner, parameters, recomputedBytes, movedBytes, predictedSlowdown }, run)
