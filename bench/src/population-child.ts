import { train, type JobEvent, type TrainOptions } from './arbalest.js'
import { workloadOf } from './cases.js'
import { randomDataset } from './random-dataset.js'

/** Trains for so many seconds; prints one line of JSON: what came of it, half by half. */
const [model = '', batch = '', learners = '', seconds = ''] = process.argv.slice(2)
const job = train({
  model,
  data: randomDataset(workloadOf(model)),
  batch: Number(batch),
  learners: JSON.parse(learners) as NonNullable<TrainOptions['learners']>,
  optimiser: { rate: 0.01, momentum: 0.9, weightDecay: 1e-4 },
  until: { steps: 20_000_000 },
  seed: 1
})
const marks: { readonly seconds: number; readonly images: number; readonly learners: number }[] = []
const warm = 1
let images = 0
let before = 0
const decisions: string[] = []
for await (const event of job as AsyncIterable<JobEvent>) {
  if (event.event === 'population') decisions.push(`${event.from} -> ${event.to} (${event.action}): ${event.reason}`)
  if (event.event !== 'progress') continue
  images += (event.iteration - before) * event.learners * Number(batch)
  before = event.iteration
  marks.push({ seconds: event.seconds, images, learners: event.learners })
  if (event.seconds > Number(seconds) + warm) break
}
/** Images a second from one share of the run to another, and the population at its end. */
function stretch(from: number, to: number): object {
  const within = marks.filter((mark) => mark.seconds >= warm + from * Number(seconds) && mark.seconds <= warm + to * Number(seconds))
  const [first, last] = [within[0]!, within.at(-1)!]
  return { imagesPerSecond: (last.images - first.images) / (last.seconds - first.seconds), learners: last.learners }
}
process.stdout.write(`${JSON.stringify({ firstHalf: stretch(0.25, 0.5), secondHalf: stretch(0.75, 1), decisions })}\n`)
process.exit(0)
